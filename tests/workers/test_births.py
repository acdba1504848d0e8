"""Candidates that are born while a run goes on, through real workers and their deaths."""

import os
import signal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import QuerySet, Sum

from runs.models import Run, RunState, Score, ScoreRecord
from runs.selectors.runs.stored_history import stored_history
from runs.services.runs import create_run
from tests import toy_kind
from tests.harness.patience import wait_until
from tests.workers.selecting import in_one_process, plain
from tests.workers.working import finish, running_worker
from workers.engine.kinds import KINDS
from workers.engine.records import EVALUATE, PROPOSE
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 5


@pytest.fixture
def toy(document: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setitem(KINDS, "toy", toy_kind.Toy)
    kept = {name: document[name] for name in ("name", "dataset", "scorers", "limits")}
    prompt = {"name": "first", "system": "Answer with the number only."}
    models = {"model": "simulated/sim-small", "writer": "simulated/sim-large"}
    return {**kept, **models, "kind": "toy", "prompt": prompt, "rounds": ROUNDS}


def test_a_killed_worker_bears_no_candidate_twice_and_loses_none(
    ada: User, toy: dict[str, Any], simulator: SimulatorClient
) -> None:
    """Also of those that were made from answers which the dead worker was told."""
    expected = in_one_process(toy, simulator)
    simulator.change(latency_ms=30)
    run = create_run(ada, {**toy, "cache": "off"})
    assert run.candidates.count() == 1
    with running_worker(also=toy_kind.__name__) as first:
        wait_until(lambda: Run.objects.get(pk=run.pk).candidates.count() >= 3)
        os.kill(int(first.pid or 0), signal.SIGKILL)
    with running_worker(also=toy_kind.__name__):
        finish(run)
    assert run.state == RunState.COMPLETED
    assert plain(stored_history(run)) == expected
    born = list(run.candidates.order_by("position"))
    assert [one.key for one in born] == list(dict.fromkeys(trial[1] for trial, _, _ in expected))
    assert [one.role for one in born] == [EVALUATE, *[PROPOSE, EVALUATE] * (ROUNDS - 1)]
    assert [one.done for one in born] == [20, *[1, 20] * (ROUNDS - 1)]
    answers = dict(run.scores.values_list("candidate__key", "answer"))
    for proposal, child in zip(born[1::2], born[2::2], strict=True):
        assert child.document["prompt"]["system"] == answers[proposal.key]
    assert run.planned == run.done == 20 * ROUNDS
    kept = ScoreRecord.objects.filter(run=run).values_list("score__case__position", flat=True)
    assert list(kept) == [0] * ROUNDS
    assert run.by_role == {PROPOSE: counted(run.scores.filter(candidate__role=PROPOSE))}
    assert run.calls_sent == run.asked == len(expected)


def counted(scores: QuerySet[Score]) -> dict[str, Any]:
    """Each was answered by the one call that was made for it."""
    sums = scores.aggregate(tokens_in=Sum("tokens_in"), tokens_out=Sum("tokens_out"))
    cost = pytest.approx(sum(score.cost or 0.0 for score in scores))
    return {
        **sums,
        "done": scores.count(),
        "failed": 0,
        "sent": scores.count(),
        "cached": 0,
        "cost": cost,
    }
