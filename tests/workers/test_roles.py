"""Trials that are only told to the strategy: where they count, where they show, how they are
retried."""

import csv
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from runs.kinds import SITE_KINDS
from runs.models import Candidate, Run, RunState
from runs.selectors.comparing.comparison import compare_runs
from runs.selectors.runs.snapshot import can_retry, take_snapshot
from runs.selectors.runs.stored_history import stored_history
from runs.services.control.outages import models_needed
from runs.services.control.retrying import retry_failed
from runs.services.runs import create_run
from tests import toy_kind
from tests.api.asking import Asker
from tests.harness.factories import client_of
from tests.workers.by_hand import work_through
from workers.engine.kinds import KINDS
from workers.engine.records import ANSWER, PROPOSE, Judgement, Score, Trial

pytestmark = pytest.mark.django_db(transaction=True)

CASES, ROUNDS = 20, 3
SAID = Judgement("numeric", 0.5, False, "said so")
TOKENS: dict[str, Any] = {"tokens_in": 3, "tokens_out": 2, "calls_sent": 1, "latency_ms": 5.0}


@pytest.fixture
def toy(document: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setitem(KINDS, "toy", toy_kind.Toy)
    monkeypatch.setitem(SITE_KINDS, "toy", toy_kind.SITE)
    kept = {name: document[name] for name in ("name", "dataset", "scorers", "limits")}
    prompt = {"name": "first", "system": "Answer with the number only."}
    models = {"model": "simulated/sim-small", "writer": "simulated/sim-large"}
    return {**kept, **models, "kind": "toy", "prompt": prompt, "rounds": ROUNDS}


def answering(failing: str = "", answer: str = "Work carefully.") -> Callable[[Trial], Score]:
    """Proposals answer; of the prompts every other case is right. `failing`: a candidate's name."""

    def outcome(trial: Trial) -> Score:
        candidate = Candidate.objects.filter(key=trial.candidate)[0]
        if candidate.name == failing:
            return Score(trial, error="timeout", message="No full answer.", calls_sent=2)
        if candidate.role == PROPOSE:
            return Score(trial, value=1.0, answer=answer, cost=0.5, **TOKENS)
        value = float(trial.case % 2)
        return Score(trial, value=value, passed=bool(value), judgements=(SAID,), **TOKENS)

    return outcome


@pytest.fixture
def run(ada: User, toy: dict[str, Any]) -> Run:
    """The first proposal fails, the second has a child."""
    return work_through(create_run(ada, toy), answering(failing="proposal 1"))


def names_of(run: Run) -> list[str]:
    return list(run.candidates.order_by("position").values_list("name", flat=True))


def test_a_run_ends_and_counts_its_evaluations(run: Run) -> None:
    assert run.state == RunState.COMPLETED_WITH_ERRORS
    assert names_of(run) == ["first", "proposal 1", "proposal 2", "child 2"]
    assert run.planned == run.done == run.scored == 2 * CASES
    assert (run.asked, run.failed, run.value_sum) == (2 * CASES + 2, 0, float(CASES))
    assert run.by_role == {
        "propose": {
            "done": 2,
            "failed": 1,
            "sent": 3,
            "cached": 0,
            "cost": 0.5,
            "tokens_in": 3,
            "tokens_out": 2,
        }
    }
    finished = run.events.latest("pk").message
    assert finished == "Finished: 40 trials, 0 failed; propose: 2 trials, 1 failed, 3 sent, $0.50."
    assert (run.calls_sent, run.cost, run.tokens_in) == (2 * CASES + 3, 0.5, 3 * (2 * CASES + 1))


def test_after_a_retry_the_run_is_as_if_the_proposal_had_not_failed(
    ada: User, toy: dict[str, Any], run: Run
) -> None:
    expected = work_through(create_run(ada, toy), answering())
    assert can_retry(run)
    assert retry_failed(run, ada) == 1
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


def test_answers_and_reasons_are_read_only_for_a_strategy_that_hears_them(run: Run) -> None:
    heard = stored_history(run, hears=frozenset({ANSWER}))
    assert [score.answer for score in heard[CASES : CASES + 2]] == ["", "Work carefully."]
    assert heard[0].judgements == (SAID,)
    assert {(score.answer, score.judgements) for score in stored_history(run)} == {("", ())}


def test_a_birth_that_no_case_can_fill_fails_the_run_in_words(
    ada: User, toy: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Careless(toy_kind.Climb):
        def tell(self, scores: Any) -> None:
            super().tell(scores)
            self._rewritten = scores[-1].answer

    class CarelessToy(toy_kind.Toy):
        def open_strategy(self, cases: int) -> Careless:
            return Careless(self, cases)

    monkeypatch.setitem(KINDS, "toy", CarelessToy)
    run = work_through(create_run(ada, toy), answering(answer="Say {{nothing}}."))
    assert run.state == RunState.FAILED
    assert "child 1: {{nothing}} is not a column of the dataset" in run.reason
    assert names_of(run) == ["first", "proposal 1"]


def test_progress_is_of_evaluations_and_the_most_is_said(ada: User, toy: dict[str, Any]) -> None:
    run = create_run(ada, toy)
    assert take_snapshot(run)["text"]["progress"] == f"0 of at most {ROUNDS * CASES} trials"
    assert run.events.get().message.startswith(f"Queued: at most {ROUNDS * CASES} trials on")
    assert take_snapshot(run)["text"]["roles"] == ""


def test_the_page_shows_each_role_and_ranks_evaluations_only(ada: User, run: Run) -> None:
    page = client_of(ada).get(run.get_absolute_url()).content.decode()
    assert "40 of 40 trials" in page
    assert "evaluate: 40 trials, 40 sent, $0.00\n" in page
    assert "propose: 2 trials, 1 failed, 3 sent, $0.50</p>" in page
    board = client_of(ada).get(reverse("run_leaderboard", args=[run.pk])).content.decode()
    assert board.count("/ 20</span>") == 2
    assert "child 2" in board
    assert "proposal" not in board


def test_the_scores_table_filters_by_role_and_gives_what_is_told_no_score(
    ada: User, run: Run
) -> None:
    client = client_of(ada)
    scores = reverse("run_scores", args=[run.pk])
    told = client.get(scores, {"role": "propose"})
    assert [row.score.position for row in told.context["rows"]] == [CASES, CASES + 1]
    assert "Answered" in told.content.decode()
    assert '<option value="propose" selected>Propose</option>' in told.content.decode()
    by_score = client.get(scores, {"sort": "-score"})
    assert by_score.context["total"] == 2 * CASES
    trial = client.get(reverse("trial", args=[run.pk, CASES + 1])).content.decode()
    assert "Rewrite this prompt" in trial
    assert ">propose</span>" in trial
    assert "Expected" not in trial


def test_the_api_shows_and_filters_roles(ada: User, run: Run) -> None:
    asker = Asker(ada)
    found = asker.get(f"/runs/{run.pk}").json()
    assert found["roles"]["propose"] == {**run.by_role["propose"], "latency_mean_ms": None}
    assert found["roles"]["evaluate"]["sent"] == found["counts"]["done"] == 2 * CASES
    assert found["best"]["n"] == CASES
    assert found["best"]["name"] in {"first", "child 2"}
    ranked = asker.get(f"/runs/{run.pk}/candidates").json()["data"]
    assert {(row["name"], row["role"]) for row in ranked} == {
        ("first", "evaluate"),
        ("child 2", "evaluate"),
    }
    told = asker.get(f"/runs/{run.pk}/candidates", role="propose").json()["data"]
    assert [(row["name"], row["rank"], row["value"]) for row in told] == [
        ("proposal 1", None, None),
        ("proposal 2", None, None),
    ]
    scores = asker.get(f"/runs/{run.pk}/scores", role="propose").json()["data"]
    assert [(row["position"], row["role"]) for row in scores] == [
        (CASES, "propose"),
        (CASES + 1, "propose"),
    ]
    refused = asker.get(f"/runs/{run.pk}/scores", role="judge")
    assert refused.status_code == 422
    assert "Choose one of: evaluate, propose." in refused.content.decode()


def test_files_and_comparisons_tell_roles_apart(ada: User, run: Run) -> None:
    answer = client_of(ada).get(reverse("run_scores_csv", args=[run.pk]))
    rows = list(csv.DictReader(answer.getvalue().decode().splitlines()))
    assert [row["role"] for row in rows].count("propose") == 2
    assert rows[CASES + 1]["candidate_name"] == "proposal 2"
    assert (rows[CASES + 1]["question"], rows[0]["question"] != "") == ("", True)
    assert compare_runs(run, run).pairs == 2 * CASES


def test_a_model_is_needed_while_a_candidate_has_trials_to_come(run: Run) -> None:
    """However many candidates there are by now."""
    places = {"simulated": 7}
    assert models_needed(run, places) == set()
    run.candidates.filter(name="child 2").update(done=CASES - 1)
    assert models_needed(run, places) == {(7, "sim-small")}
    run.candidates.filter(name="proposal 2").update(done=0)
    assert models_needed(run, places) == {(7, "sim-small"), (7, "sim-large")}
