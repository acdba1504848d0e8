"""An evolution through a real worker that is killed on the way: the same lineage, and its page."""

import os
import signal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.urls import reverse

from runs.kinds.evolve.standing import evolution_of
from runs.models import Candidate, Run, RunState
from runs.selectors.runs.stored_history import stored_history
from runs.services.runs import create_run
from tests.harness.factories import client_of
from tests.harness.patience import wait_until
from tests.workers.selecting import in_one_process, plain
from tests.workers.working import finish, running_worker
from workers.engine.records import EVALUATE
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)
GENERATIONS, KILLED_IN = 4, 3


@pytest.fixture
def evolve(document: dict[str, Any]) -> dict[str, Any]:
    kept = {name: document[name] for name in ("name", "dataset", "scorers", "limits")}
    texts = ["<b>Answer.", "<b>Answer with the number only.", "<b>Be friendly and answer."]
    return {
        **kept,
        "kind": "evolve",
        "prompts": [{"name": f"p{n}", "system": text} for n, text in enumerate(texts)],
        "models": ["simulated/sim-small"],
        "operators": [
            {"reflect": {"model": "simulated/sim-large", "weight": 2}},
            {"combine": {"model": "simulated/sim-large"}},
        ],
        # Two children behind a gate: with one alone a generation is over before it can be seen.
        "strategy": {
            "name": "genetic",
            "preset": "reflective",
            "max_generations": GENERATIONS,
            "population_size": 3,
            "gate": 8,
        },
    }


def born_in(run: Run, number: int) -> QuerySet[Candidate]:
    return run.candidates.filter(role=EVALUATE, name__startswith=f"g{number}.")


def first_of_generation(run: Run, number: int) -> int:
    """The position of its first trial of a child of that generation: each takes one call."""
    positions = run.scores.filter(candidate__in=born_in(run, number)).values_list("position")
    return int(min(positions)[0])


def is_in_generation(run: Run, number: int) -> bool:
    """Some of its children are tried, and it is not measured yet."""
    run = Run.objects.get(pk=run.pk)
    measured = len(evolution_of(run).generations)
    tried = run.scores.filter(candidate__in=born_in(run, number))
    return measured == number - 1 and tried.exists()


def lineage_of(person: User, run: Run) -> str:
    """As a program reads it."""
    found = client_of(person).get(f"/api/v1/runs/{run.pk}/board").json()
    digest: str = found["lineage"]
    return digest


def test_a_killed_worker_changes_nothing_of_a_lineage(
    ada: User, evolve: dict[str, Any], simulator: SimulatorClient
) -> None:
    expected = in_one_process(evolve, simulator)
    undisturbed = create_run(ada, evolve)
    with running_worker():
        finish(undisturbed)
    simulator.change(hold_after=first_of_generation(undisturbed, KILLED_IN) + 4)
    run = create_run(ada, {**evolve, "cache": "off"})
    assert run.candidates.count() == 3
    with running_worker() as first:
        wait_until(lambda: is_in_generation(run, KILLED_IN))
        os.kill(int(first.pid or 0), signal.SIGKILL)
    simulator.change(hold_after=None)
    run.refresh_from_db()
    assert not run.is_finished
    assert is_in_generation(run, KILLED_IN)
    with running_worker():
        finish(run)
    assert run.state == RunState.COMPLETED, run.reason
    assert plain(stored_history(run)) == expected
    digests = {lineage_of(ada, one) for one in (run, undisturbed)}
    assert len(digests) == 1
    report = evolution_of(run)
    assert len(report.generations) == GENERATIONS
    assert report.reason == f"all {GENERATIONS} generations are done"
    assert report.best is not None
    assert run.chosen is not None
    assert run.candidates.get(position=run.chosen).key == report.best.key
    asked = run.scores.filter(candidate__role=EVALUATE).values("candidate", "case", "repeat")
    assert asked.distinct().count() == asked.count() == run.done
    record = client_of(ada).get(reverse("run_file", args=[run.pk, "evolution.json"])).json()
    assert record["best_fitness"] == report.best_fitness
    assert record["total_generations"] == len(record["generation_results"]) == GENERATIONS
    assert record["total_evaluations"] == run.asked
    page = client_of(ada).get(reverse("run", args=[run.pk])).content.decode()
    for text in ("Fitness by generation", "What made better prompts", report.best.name):
        assert text in page
    assert "&lt;b&gt;" in page
    assert not any(f"<b>{word}" in page for word in ("Answer", "Be friendly"))
