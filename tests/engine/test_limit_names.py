"""The names of the evaluation guide do what they say: one test for each row of the reference."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from tests.engine.running import run_document
from tests.harness.patience import PATIENCE_SECONDS
from workers.engine.errors import ConfigurationError
from workers.engine.here import build_quotas
from workers.engine.kinds import read_configuration
from workers.engine.records import Case, Request
from workers.engine.schedule import Room, calls_per_candidate, plan_chunks, split_slots
from workers.engine.session import Session
from workers.engine.spec.presets import EFFECTS, PRESETS, written_otherwise
from workers.simulator.testing import SimulatorClient

ROOM = Room(chunks=64, chunk_size=100, slots=50)
TESTED = {
    "async_batch_size",
    "genome_batch_size",
    "max_concurrent_genomes",
    "max_concurrent_requests",
    "rate_limit_per_minute",
    "async_timeout",
    "detailed_performance_logging",  # tests/workers/test_limits_of_runs.py
    "enable_async_evaluation: false",
}


def configuration(genomes: int, **limits: Any) -> Any:
    return read_configuration(
        {
            "kind": "evaluate",
            "dataset": "sums",
            "prompts": [{"name": f"p{n}", "user": "{{question}}"} for n in range(genomes)],
            "models": ["simulated/sim-small"],
            "scorers": ["exact"],
            "limits": limits,
        }
    )


def begun(made: Any, session: Session, cases: int, open_keys: set[str]) -> list[str]:
    chunks = plan_chunks(session, made, cases, open_keys, ROOM)
    return list(dict.fromkeys(chunk[0].candidate for chunk in chunks))


def test_every_name_has_an_effect_and_a_test() -> None:
    assert set(written_otherwise()) == set(EFFECTS) == TESTED


def test_async_batch_size_is_what_is_taken_of_one_genome() -> None:
    made = configuration(3, async_batch_size=4, schedule="two_level")
    chunks = plan_chunks(Session(made.open_strategy(10)), made, 10, set(), ROOM)
    assert [len(chunk) for chunk in chunks] == [4, 4, 2] * 3
    assert all(len({trial.candidate for trial in chunk}) == 1 for chunk in chunks)
    assert calls_per_candidate(made, 10, 50) == 4


def test_genomes_of_a_batch_end_before_the_next_batch_begins() -> None:
    made = configuration(5, genome_batch_size=3, max_concurrent_genomes=2)
    session = Session(made.open_strategy(10))
    first, second = begun(made, session, 10, set())
    [third] = begun(made, session, 10, {second})
    assert begun(made, session, 10, {third}) == []  # there is room for two, but not in this batch
    assert len(begun(made, session, 10, set())) == 2
    assert len({first, second, third}) == 3


def test_no_more_genomes_are_at_work_than_max_concurrent_genomes() -> None:
    made = configuration(5, max_concurrent_genomes=2)
    session = Session(made.open_strategy(10))
    first, second = begun(made, session, 10, set())
    assert begun(made, session, 10, {first, second}) == []
    assert len(begun(made, session, 10, {second})) == 1


@pytest.mark.parametrize(
    ("given", "at_once", "each"),
    [
        pytest.param({}, None, 4, id="alone: of each genome, and the endpoint's limit in all"),
        pytest.param({"max_concurrent_genomes": 3}, 12, 4, id="with genomes"),
        pytest.param({"preset": "balanced"}, 20, 4, id="with the genomes of a preset"),
        pytest.param({"preset": "balanced", "max_concurrent": 9}, 9, 4, id="with a total"),
    ],
)
async def test_max_concurrent_requests_counts_the_calls_of_one_genome(
    simulator: SimulatorClient,
    document: dict[str, Any],
    cases: list[Case],
    given: dict[str, Any],
    at_once: int | None,
    each: int,
) -> None:
    limits = {"max_concurrent_requests": 4, "requests_per_minute": None, **given}
    assert read_configuration({**document, "limits": limits}).limits.max_concurrent == at_once
    simulator.change(latency_ms=5, gather=each)
    document |= {"prompts": document["prompts"][:1], "models": ["simulated/sim-small"]}
    await run_document({**document, "limits": limits}, cases, simulator.url)
    assert simulator.ledger()["peak_in_flight"] == each  # of the only genome


@pytest.mark.parametrize(
    ("preset", "genomes", "calls"),
    [("conservative", 3, 5), ("balanced", 5, 10), ("aggressive", 8, 15)],
)
def test_a_preset_has_the_genomes_and_the_calls_of_the_guide(preset, genomes, calls) -> None:
    made = configuration(20, preset=preset, schedule="two_level")
    slots = PRESETS[preset]["max_concurrent"]
    assert split_slots(made, 100, slots) == (genomes, calls)
    assert made.limits.candidate_batch_size == {3: 5, 5: 10, 8: 15}[genomes]


def test_a_preset_keeps_every_slot_busy_where_no_genomes_are_asked_for() -> None:
    limits = configuration(2, preset="balanced").limits
    assert (limits.schedule, limits.max_concurrent) == ("work_conserving", 50)
    assert (limits.max_concurrent_candidates, limits.candidate_batch_size) == (None, None)


def test_rate_limit_per_minute_is_the_rate_of_the_run() -> None:
    quotas = build_quotas(configuration(1, rate_limit_per_minute=120), 10, {})
    [of_run] = quotas(Request("simulated", "sim-small", "/chat", {}))
    assert of_run.requests_per_minute == 120


async def test_async_timeout_ends_a_call_that_hangs(
    simulator: SimulatorClient, document: dict[str, Any], cases: list[Case]
) -> None:
    simulator.change(latency_ms=60_000)
    limits = {"async_timeout": 0.05, "attempts": 1}
    async with asyncio.timeout(PATIENCE_SECONDS):
        scores = await run_document({**document, "limits": limits}, cases[:2], simulator.url)
    assert Counter(score.error for score in scores) == {"timeout": 8}


async def test_without_async_evaluation_one_call_is_made_at_a_time(
    simulator: SimulatorClient, document: dict[str, Any], cases: list[Case]
) -> None:
    simulator.change(latency_ms=5)
    document["limits"] = {"enable_async_evaluation": False}
    await run_document(document, cases[:5], simulator.url)
    assert simulator.ledger()["peak_in_flight"] == 1


def test_async_evaluation_is_what_there_is_anyway(document: dict[str, Any]) -> None:
    limits = read_configuration({**document, "limits": {"enable_async_evaluation": True}}).limits
    assert (limits.schedule, limits.max_concurrent) == ("work_conserving", None)


def test_no_async_evaluation_beside_another_schedule_is_refused(document: dict[str, Any]) -> None:
    document["limits"] = {"enable_async_evaluation": False, "schedule": "two_level"}
    with pytest.raises(ConfigurationError, match="Leave one of the two out"):
        read_configuration(document)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({}, (None, None, 4, 60.0)),
        ({"preset": "endpoint"}, (None, None, 4, 60.0)),
        ({"max_concurrent": 100}, (100, None, 4, 60.0)),
        ({"requests_per_minute": 600}, (None, 600, 4, 60.0)),
        ({"attempts": 1, "timeout_seconds": 5}, (None, None, 1, 5.0)),
        ({"preset": "balanced"}, (50, 3500, 4, 60.0)),
        ({"preset": "balanced", "max_concurrent": None}, (None, 3500, 4, 60.0)),
    ],
)
def test_a_field_beside_no_preset_changes_that_field_only(given, meant) -> None:
    limits = configuration(1, **given).limits
    found = (limits.max_concurrent, limits.requests_per_minute, limits.attempts)
    assert (*found, limits.timeout_seconds) == meant
