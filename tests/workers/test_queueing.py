"""Calls that wait at an Ollama server are seen by their latency, and said with what to do."""

import pytest
from django.urls import reverse

from runs.models import ADVICE, Endpoint, EndpointKind
from runs.selectors.endpoints.load import use_of
from runs.selectors.endpoints.permit_state import read_permits
from runs.selectors.runs.run_summary import run_detail
from runs.services.runs import create_run
from tests.engine.mutate.training_runs import mutation
from tests.harness.factories import client_of
from tests.workers.working import finish, running_worker

pytestmark = pytest.mark.django_db(transaction=True)
MODEL = "sim-small"
START = 20  # of an adaptive limit, in permits.lua


@pytest.fixture
def ollama(simulator, monkeypatch):
    place = simulator.url.removeprefix("http://")
    monkeypatch.setenv("EVALSITE_ALLOWED_PRIVATE_ENDPOINTS", place)
    kind = EndpointKind.OLLAMA
    return Endpoint.objects.create(
        name="local", kind=kind, base_url=simulator.url, model_names=[MODEL], max_concurrent=64
    )


@pytest.fixture
def mutate(document):
    """32 environments on one model: more than an adaptive limit lets fly at first."""
    roles = dict.fromkeys(("mutator", "target"), f"local/{MODEL}")
    strategy = {"name": "uniform", "num_processes": 32, "num_steps": 4, "updates": 1}
    limits = {"max_concurrent": None, "timeout_seconds": 60}
    return mutation(
        dataset=document["dataset"], roles=roles, strategy=strategy, limits=limits, cache="off"
    )


def test_a_mutation_is_told_that_its_calls_wait_at_ollama(alice, mutate, ollama, simulator):
    simulator.change(latency_ms=30, num_parallel=2)
    with running_worker():
        run = finish(create_run(alice, {**mutate, "held_out": 6}))
    assert run.failed == 0, run.reason
    event = run.events.get(kind=ADVICE)
    assert event.message.startswith(f"local/{MODEL}: ")
    told = "raise OLLAMA_NUM_PARALLEL"
    assert told in event.message
    assert event.data["size"] < event.data["tried"]
    assert run_detail(run).advice == [event.message]
    assert told in client_of(alice).get(reverse("run", args=[run.pk])).content.decode()
    state = (read_permits([(ollama.pk, MODEL)]) or {})[ollama.pk, MODEL]
    assert 0 < state.bears < 32
    assert state.limit is not None
    assert START <= state.limit < ollama.max_concurrent  # it grew no more once they waited
    ((use,),) = [board.models for board in use_of(ollama, set()).uses]
    assert use.condition.text == "Calls wait at the server"
    assert told in use.condition.detail


@pytest.mark.alone
def test_a_server_with_room_is_told_nothing(alice, mutate, ollama, simulator):
    """By latencies, to which a busy machine adds what looks like a queue."""
    simulator.change(latency_ms=200)
    with running_worker():
        run = finish(create_run(alice, {**mutate, "held_out": None}))
    assert run.failed == 0, run.reason
    assert run_detail(run).advice == []
