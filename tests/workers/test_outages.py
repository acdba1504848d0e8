"""Models and calls that fail: what is set aside, paused, given up and tried again. And calls that
wait at an Ollama server: seen by their latency, and said with what to do."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from runs.models import ADVICE, ChunkState, Endpoint, EndpointKind, Run, RunState, Score
from runs.selectors.endpoints.load import use_of
from runs.selectors.endpoints.permit_state import read_permits
from runs.selectors.runs.run_summary import run_detail
from runs.services.control.endpoint_pauses import reset_breaker
from runs.services.control.outages import HOPELESS_SECONDS, pause_hopeless
from runs.services.control.resuming import resume_run
from runs.services.control.retrying import rerun_trial, retry_failed
from runs.services.runs import cancel_run, create_run
from tests.engine.mutate.training_runs import mutation
from tests.harness.factories import client_of
from tests.harness.patience import wait_until
from tests.workers.working import finish, finish_after_outage, is_in, paused, running_worker

pytestmark = pytest.mark.django_db(transaction=True)

SLOTS = 4
SHORT = 0.3  # seconds, in place of ten minutes
LARGE_FAILS = {"match": {"model": "sim-large"}, "times": 1000, "do": "status", "status": 500}


def is_open(endpoint, *models):
    states = read_permits([(endpoint.pk, model) for model in models])
    return states is not None and all(state.failing_seconds > SHORT for state in states.values())


def test_a_run_whose_models_all_fail_pauses_and_may_be_resumed(alice, both, endpoint, simulator):
    simulator.change(error_rate=1.0)
    with running_worker():
        run = create_run(alice, {**both, "cache": "off"})
        wait_until(lambda: is_open(endpoint, "sim-small", "sim-large"))
        pause_hopeless(HOPELESS_SECONDS)
        assert is_in(run, RunState.RUNNING)  # not yet
        pause_hopeless(SHORT)
        paused(run)
        assert run.reason == (
            "simulated/sim-large, simulated/sim-small have failed every call for 1 minute: "
            "look at the endpoint, then resume to try again"
        )
        resume_run(run, alice)
        pause_hopeless(HOPELESS_SECONDS)
        assert is_in(run, RunState.RUNNING)  # it has its time again
        simulator.change(error_rate=0.0, hold_after=0)  # no probe closes a breaker meanwhile
        assert reset_breaker(User(is_staff=True), endpoint) == 2
        simulator.change(hold_after=None)
        finish(run)
    assert run.done == 40


def test_one_broken_model_ends_the_wait_and_is_named_alone(alice, both, endpoint, simulator):
    simulator.play(LARGE_FAILS)
    with running_worker():
        run = create_run(alice, {**both, "cache": "off"})
        wait_until(lambda: is_open(endpoint, "sim-large"))

        def is_paused():
            pause_hopeless(SHORT)
            return is_in(run, RunState.PAUSED)

        wait_until(is_paused)
    assert Run.objects.get(pk=run.pk).reason.startswith("simulated/sim-large has failed every call")


def test_the_other_models_of_a_run_go_on_while_one_fails(alice, both, endpoint, simulator):
    """And what was set aside is taken up when the model answers again."""
    both["limits"] |= {"max_concurrent": SLOTS}
    simulator.play(LARGE_FAILS)
    with running_worker():
        run = create_run(alice, both)
        good = run.candidates.filter(document__model__model="sim-small")
        wait_until(lambda: sum(good.values_list("done", flat=True)) == 20)
        # Now and then some are taken up, and set aside again.
        aside = run.chunks.filter(state=ChunkState.SET_ASIDE)
        wait_until(aside.exists)
        assert is_in(run, RunState.RUNNING)  # its other trials may still get an answer
        wait_until(run.events.filter(message__contains="The last error: ").exists)
        assert "sim-large is failing; it is tried again soon. The last error: " in run.reason
        assert run.done - run.scored <= SLOTS
        dropped = create_run(alice, {**both, "cache": "off"})
        wait_until(dropped.chunks.filter(state=ChunkState.SET_ASIDE).exists)
        assert cancel_run(dropped)
        simulator.play()
        finish_after_outage(run, endpoint)
    assert not dropped.chunks.filter(state=ChunkState.SET_ASIDE).exists()
    assert (run.done, run.planned) == (40, 40)
    assert run.failed <= 2 * SLOTS  # those whose attempts were used up before the breaker opened
    assert not run.chunks.exclude(state=ChunkState.DONE).exists()


def test_failed_trials_are_retried_and_one_trial_past_the_cache(alice, both, simulator):
    simulator.play({"do": "status", "status": 404, "times": 7})
    with running_worker():
        run = finish(create_run(alice, both))
        assert (run.state, run.failed) == (RunState.COMPLETED_WITH_ERRORS, 7)
        kept = set(Score.objects.filter(run=run, error_class="").values_list("pk", flat=True))
        simulator.reset()
        assert retry_failed(run, alice) == 7
        finish(run)
        assert (run.state, run.done, run.failed) == (RunState.COMPLETED, 40, 0)
        assert simulator.ledger()["total"] == 7
        assert kept < set(run.scores.values_list("pk", flat=True))
        # Though the call is equal to one that has just landed, which others would share.
        assert rerun_trial(run, alice, 0)
        finish(run)
    assert simulator.ledger()["total"] == 8
    assert (run.state, run.done, run.calls_sent) == (RunState.COMPLETED, 40, 48)
    assert run.scores.get(position=0).cached is False


def test_a_run_that_only_fails_is_paused_before_it_burns_money(alice, both, simulator):
    simulator.change(latency_ms=5)
    simulator.play({"do": "status", "status": 401, "times": 1000})
    with running_worker():
        run = paused(create_run(alice, both))
        assert simulator.ledger()["total"] <= 20 + 12  # a streak and the slots
        assert "in a row failed with “credentials”" in run.reason
        simulator.play()
        assert resume_run(run, alice)
        finish(run)
        failed = run.failed
        assert retry_failed(run, alice) == failed
        finish(run)
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED, 40, 0)


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
def crowded(document):
    """32 environments on one model: more than an adaptive limit lets fly at first."""
    roles = dict.fromkeys(("mutator", "target"), f"local/{MODEL}")
    strategy = {"name": "uniform", "num_processes": 32, "num_steps": 4, "updates": 1}
    limits = {"max_concurrent": None, "timeout_seconds": 60}
    return mutation(
        dataset=document["dataset"], roles=roles, strategy=strategy, limits=limits, cache="off"
    )


def test_a_mutation_is_told_that_its_calls_wait_at_ollama(alice, crowded, ollama, simulator):
    simulator.change(latency_ms=30, num_parallel=2)
    with running_worker():
        run = finish(create_run(alice, {**crowded, "held_out": 6}))
    assert run.failed == 0, run.reason
    event = run.events.get(kind=ADVICE)
    assert event.message.startswith(f"local/{MODEL}: ")
    told = "raise OLLAMA_NUM_PARALLEL"
    assert told in event.message
    assert event.data["size"] < event.data["tried"]
    assert run_detail(run).advice == [event.message]
    assert told in client_of(alice).get(reverse("run", args=[run.pk])).text
    state = (read_permits([(ollama.pk, MODEL)]) or {})[ollama.pk, MODEL]
    assert 0 < state.bears < 32
    assert state.limit is not None
    assert START <= state.limit < ollama.max_concurrent  # it grew no more once they waited
    ((use,),) = [board.models for board in use_of(ollama, set()).uses]
    assert use.condition.text == "Calls wait at the server"
    assert told in use.condition.detail


@pytest.mark.alone
def test_a_server_with_room_is_told_nothing(alice, crowded, ollama, simulator):
    """By latencies, to which a busy machine adds what looks like a queue."""
    simulator.change(latency_ms=200)
    with running_worker():
        run = finish(create_run(alice, {**crowded, "held_out": None}))
    assert run.failed == 0, run.reason
    assert run_detail(run).advice == []
