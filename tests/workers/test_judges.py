"""Judges of real workers: counted apart, retried with the stored answer, and failing alone."""

import pytest
from django.urls import reverse

from runs.models import Chunk, RunState
from runs.services.control.retrying import retry_failed
from runs.services.runs import create_run
from tests.api.asking import Asker
from tests.harness.factories import client_of
from tests.harness.patience import wait_until
from tests.workers.working import finish, finish_after_outage, running_worker
from workers.engine.records import JUDGE

pytestmark = pytest.mark.django_db(transaction=True)

RUBRIC = {"rubric": {"judge": "simulated/sim-large", "rubric": "It is the right number."}}


@pytest.fixture
def judged(few, priced):
    """One prompt and one model on 20 questions, judged by another model."""
    return {**few, "scorers": [RUBRIC]}


def judge_sums(run):
    """What the stored scores say."""
    rows = [(score.judging or {})["use"] for score in run.scores.all()]
    return {name: sum(row[name] for row in rows) for name in rows[0]}


def test_a_judge_is_counted_apart_and_its_failures_are_judged_again(alice, judged, simulator):
    simulator.play({"match": {"model": "sim-large"}, "do": "status", "status": 400, "times": 3})
    with running_worker():
        run = finish(create_run(alice, judged))
        assert (run.state, run.done, run.failed) == (RunState.COMPLETED_WITH_ERRORS, 20, 3)
        assert simulator.ledger()["by_model"] == {"sim-small": 20, "sim-large": 20}
        check_counters(run)
        failed = list(run.scores.exclude(error_class=""))
        assert {score.error_class for score in failed} == {"scorer_error"}
        answers = {score.position: score.answer for score in failed}
        assert all(answers.values())
        first_cost = run.cost
        simulator.reset()
        assert retry_failed(run, alice) == 3
        finish(run)
    assert simulator.ledger()["by_model"] == {"sim-large": 3}  # nothing was asked for again
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED, 20, 0)
    assert {one.position: one.answer for one in run.scores.filter(position__in=answers)} == answers
    assert not Chunk.objects.exclude(kept=None).exists()
    # What was paid stays counted: the three refused calls were sent as well.
    assert (run.calls_sent, run.by_role[JUDGE]["sent"]) == (43, 23)
    assert run.by_role[JUDGE]["done"] == judge_sums(run)["done"] == 20
    again = sum(judge_cost(score) for score in run.scores.filter(position__in=answers))
    assert run.cost == pytest.approx(first_cost + again)
    assert run.cost == pytest.approx(cost_of_scores(run))  # no answer was paid for twice
    assert run.candidates.get().tokens_in == own_tokens(run)


def own_tokens(run):
    return sum(score.tokens_in or 0 for score in run.scores.all())


def judge_cost(score):
    return float((score.judging or {})["use"]["cost"])


def cost_of_scores(run):
    return sum((score.cost or 0.0) + judge_cost(score) for score in run.scores.all())


def check_counters(run):
    counts, sums = run.by_role[JUDGE], judge_sums(run)
    assert counts == pytest.approx(sums)
    assert (counts["done"], counts["failed"], counts["sent"]) == (20, 3, 20)
    assert counts["latency_ms"] > 0
    assert run.calls_sent == 40
    assert run.cost == pytest.approx(cost_of_scores(run))
    assert run.candidates.get().tokens_in == own_tokens(run)
    assert run.tokens_in == own_tokens(run) + counts["tokens_in"]


def test_embeddings_travel_together_and_pages_show_what_judges_said(alice, judged, simulator):
    similar = {"similarity": {"model": "simulated/sim-embed"}}
    both = {**judged, "scorers": [RUBRIC, similar, "numeric"], "cache": "use"}
    simulator.change(gather=12)  # the first answers come together
    with running_worker():
        run = finish(create_run(alice, both))
        again = finish(create_run(alice, both))
    assert run.state == again.state == RunState.COMPLETED
    ledger = simulator.ledger()["by_model"]
    assert (ledger["sim-small"], ledger["sim-large"]) == (20, 20)
    assert ledger["sim-embed"] < 20  # of some 40 texts, several in one request
    assert run.by_role[JUDGE]["sent"] == ledger["sim-large"] + ledger["sim-embed"]
    assert run.calls_sent == sum(ledger.values())
    assert (again.calls_sent, again.cost) == (0, 0.0)
    assert again.by_role[JUDGE]["cached"] == again.by_role[JUDGE]["done"]
    assert again.cost_saved == pytest.approx(run.cost + run.cost_saved)
    check_pages(alice, run.scores.get(position=7))


def check_pages(alice, score):
    page = client_of(alice).get(reverse("trial", args=[score.run_id, score.position])).text
    assert "What the judges were asked" in page
    assert "You are a strict judge." in page
    assert "A vector of 768 numbers: " in page
    shown = Asker(alice).get(f"/runs/{score.run_id}/trials/{score.position}").json()
    assert shown["judge_use"] == (score.judging or {})["use"]
    assert [call["step"] for call in shown["judge_calls"]] == ["rubric", "similarity", "similarity"]


def test_an_outage_of_the_judge_costs_no_verdict_and_no_answer(alice, judged, simulator, priced):
    """Without a cache. The chunk is set aside with its answers, then the judge comes back."""
    judge = {"model": "sim-large"}
    simulator.play(
        {"match": judge, "do": "pass", "times": 10},
        {"match": judge, "do": "status", "status": 503, "times": None},
    )
    limits = {**judged["limits"], "max_concurrent": 6, "attempts": 2}
    with running_worker():
        run = create_run(alice, {**judged, "repeats": 2, "limits": limits})
        wait_until(lambda: Chunk.objects.exclude(kept=None).exists())
        assert not run.scores.filter(value=0.0, error_class__gt="").exists()
        simulator.play()
        finish_after_outage(run, priced)
        check_outage(run, simulator)
        if run.failed:
            assert retry_failed(run, alice) == run.failed
            finish(run)
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED, 40, 0)
    check_outage(run, simulator)
    assert run.by_role[JUDGE]["done"] == judge_sums(run)["done"]
    assert run.cost == pytest.approx(cost_of_scores(run))
    assert not Chunk.objects.exclude(kept=None).exists()


def check_outage(run, simulator):
    failed = run.scores.exclude(error_class="")
    assert set(failed.values_list("error_class", "value")) <= {("scorer_error", None)}
    assert simulator.ledger()["by_model"]["sim-small"] == 40  # each answer was asked for once
    assert run.calls_sent - run.by_role[JUDGE]["sent"] == 40
