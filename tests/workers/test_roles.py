"""Trials that are only told to the strategy: where they count and show."""

import csv
from typing import Any

import pytest
from django.urls import reverse

from runs.kinds import SITE_KINDS
from runs.models import Candidate, RunState
from runs.selectors.comparing.comparison import compare_runs
from runs.selectors.runs.snapshot import can_retry, take_snapshot
from runs.selectors.runs.stored_history import stored_history
from runs.services.control.outages import models_needed
from runs.services.control.retrying import retry_failed
from runs.services.runs import create_run
from tests import toy_kind
from tests.api.asking import Asker
from tests.engine.test_births import CarelessToy
from tests.harness.factories import client_of, toy_document
from tests.workers.by_hand import work_through
from workers.engine.kinds import KINDS
from workers.engine.records import ANSWER, PROPOSE, Judgement, Score

pytestmark = pytest.mark.django_db(transaction=True)

CASES, ROUNDS = 20, 3
SAID = Judgement("numeric", 0.5, False, "said so")
TOKENS: dict[str, Any] = {"tokens_in": 3, "tokens_out": 2, "calls_sent": 1, "latency_ms": 5.0}


@pytest.fixture
def toy(document, monkeypatch):
    monkeypatch.setitem(KINDS, "toy", toy_kind.Toy)
    monkeypatch.setitem(SITE_KINDS, "toy", toy_kind.SITE)
    return toy_document(document, rounds=ROUNDS)


def answering(failing="", answer="Work carefully."):
    """Proposals answer; of the prompts every other case is right. `failing`: a candidate's name."""

    def outcome(trial):
        candidate = Candidate.objects.filter(key=trial.candidate)[0]
        if candidate.name == failing:
            return Score(trial, error="timeout", message="No full answer.", calls_sent=2)
        if candidate.role == PROPOSE:
            return Score(trial, value=1.0, answer=answer, cost=0.5, **TOKENS)
        value = float(trial.case % 2)
        return Score(trial, value=value, passed=bool(value), judgements=(SAID,), **TOKENS)

    return outcome


@pytest.fixture
def run(alice, toy):
    """The first proposal fails, the second has a child."""
    return work_through(create_run(alice, toy), answering(failing="proposal 1"))


def names_of(run):
    return list(run.candidates.order_by("position").values_list("name", flat=True))


def check_counts(run):
    """It ends and counts its evaluations."""
    assert run.state == RunState.COMPLETED_WITH_ERRORS
    assert names_of(run) == ["first", "proposal 1", "proposal 2", "child 2"]
    assert run.planned == run.done == run.scored == 2 * CASES
    assert (run.asked, run.failed, run.value_sum) == (2 * CASES + 2, 0, float(CASES))
    counts = {"done": 2, "failed": 1, "sent": 3, "cached": 0, "cost": 0.5}
    assert run.by_role == {"propose": {**counts, "tokens_in": 3, "tokens_out": 2}}
    finished = run.events.latest("pk").message
    assert finished == "Finished: 40 trials, 0 failed; propose: 2 trials, 1 failed, 3 sent, $0.50."
    assert (run.calls_sent, run.cost, run.tokens_in) == (2 * CASES + 3, 0.5, 3 * (2 * CASES + 1))
    # Answers and reasons are read only for a strategy that hears them.
    heard = stored_history(run, hears=frozenset({ANSWER}))
    assert [score.answer for score in heard[CASES : CASES + 2]] == ["", "Work carefully."]
    assert heard[0].judgements == (SAID,)
    assert {(score.answer, score.judgements) for score in stored_history(run)} == {("", ())}


def test_after_a_retry_the_run_is_as_if_the_proposal_had_not_failed(alice, toy, run):
    expected = work_through(create_run(alice, toy), answering())
    assert can_retry(run)
    assert retry_failed(run, alice) == 1
    run.refresh_from_db()
    assert run.told("failed") == 0
    work_through(run, answering())
    assert run.state == RunState.COMPLETED
    hears = frozenset({ANSWER})
    assert stored_history(run, hears=hears) == stored_history(expected, hears=hears)
    assert names_of(run) == names_of(expected) == ["first", "proposal 1", "child 1", "proposal 2",
                                                   "child 2"]  # fmt: skip
    sent = {"sent": 3 + 2, "cost": 0.5 + 2 * 0.5}  # what was paid for the first time stays counted
    assert run.by_role["propose"] == {**expected.by_role["propose"], **sent}
    assert run.planned == run.done == expected.done == 3 * CASES


def test_progress_is_of_evaluations_and_a_birth_none_can_fill_fails(alice, toy, monkeypatch):
    run = create_run(alice, toy)
    assert take_snapshot(run)["text"]["progress"] == f"0 of at most {ROUNDS * CASES} trials"
    assert run.events.get().message.startswith(f"Queued: at most {ROUNDS * CASES} trials on")
    assert take_snapshot(run)["text"]["roles"] == ""
    monkeypatch.setitem(KINDS, "toy", CarelessToy)
    run = work_through(create_run(alice, toy), answering(answer="Say {{nothing}}."))
    assert run.state == RunState.FAILED
    assert "child 1: {{nothing}} is not a column of the dataset" in run.reason
    assert names_of(run) == ["first", "proposal 1"]


def check_pages(alice, run):
    """Each role is shown, and evaluations only are ranked."""
    page = client_of(alice).get(run.get_absolute_url()).text
    assert "40 of 40 trials" in page
    assert "evaluate: 40 trials, 40 sent, $0.00\n" in page
    assert "propose: 2 trials, 1 failed, 3 sent, $0.50</p>" in page
    board = client_of(alice).get(reverse("run_leaderboard", args=[run.pk])).text
    assert board.count("/ 20</span>") == 2
    assert "child 2" in board
    assert "proposal" not in board
    # The table filters by role and gives what is told no score.
    client = client_of(alice)
    scores = reverse("run_scores", args=[run.pk])
    told = client.get(scores, {"role": "propose"})
    assert [row.score.position for row in told.context["rows"]] == [CASES, CASES + 1]
    assert "Answered" in told.text
    assert '<option value="propose" selected>Propose</option>' in told.text
    by_score = client.get(scores, {"sort": "-score"})
    assert by_score.context["total"] == 2 * CASES
    trial = client.get(reverse("trial", args=[run.pk, CASES + 1])).text
    assert "Rewrite this prompt" in trial
    assert ">propose</span>" in trial
    assert "Expected" not in trial


def check_api(alice, run):
    """Roles are shown and filtered."""
    asker = Asker(alice)
    found = asker.get(f"/runs/{run.pk}").json()
    assert found["roles"]["propose"] == {**run.by_role["propose"], "latency_mean_ms": None}
    assert found["roles"]["evaluate"]["sent"] == found["counts"]["done"] == 2 * CASES
    assert found["best"]["n"] == CASES
    assert found["best"]["name"] in {"first", "child 2"}
    ranked = asker.get(f"/runs/{run.pk}/candidates").json()["data"]
    assert {(row["name"], row["role"]) for row in ranked} == {
        (name, "evaluate") for name in ("first", "child 2")
    }
    told = asker.get(f"/runs/{run.pk}/candidates", role="propose").json()["data"]
    assert [row["name"] for row in told] == ["proposal 1", "proposal 2"]
    assert {(row["rank"], row["value"]) for row in told} == {(None, None)}
    scores = asker.get(f"/runs/{run.pk}/scores", role="propose").json()["data"]
    assert [row["position"] for row in scores] == [CASES, CASES + 1]
    assert {row["role"] for row in scores} == {"propose"}
    refused = asker.get(f"/runs/{run.pk}/scores", role="judge")
    assert refused.status_code == 422
    assert "Choose one of: evaluate, propose." in refused.text
    # Files and comparisons tell roles apart.
    answer = client_of(alice).get(reverse("run_scores_csv", args=[run.pk]))
    rows = list(csv.DictReader(answer.getvalue().decode().splitlines()))
    assert [row["role"] for row in rows].count("propose") == 2
    assert rows[CASES + 1]["candidate_name"] == "proposal 2"
    assert (rows[CASES + 1]["question"], rows[0]["question"] != "") == ("", True)
    assert compare_runs(run, run).pairs == 2 * CASES


def check_needs(run):
    """A model is needed while a candidate has trials to come, however many candidates there are."""
    places = {"simulated": 7}
    assert models_needed(run, places) == set()
    run.candidates.filter(name="child 2").update(done=CASES - 1)
    assert models_needed(run, places) == {(7, "sim-small")}
    run.candidates.filter(name="proposal 2").update(done=0)
    assert models_needed(run, places) == {(7, "sim-small"), (7, "sim-large")}


def test_what_is_only_told_counts_and_shows_apart(alice, run):
    check_counts(run)
    check_pages(alice, run)
    check_api(alice, run)
    check_needs(run)
