"""How trials are cut into chunks, by the names of the evaluation guide."""

from itertools import product

import pytest

from tests.engine.running import evaluation, run_document
from tests.harness.table import row, table
from workers.engine.chunks import Allocation, allocate, chunk_size, chunks_ahead, split
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.schedule import Room, calls_per_candidate, plan_chunks, split_slots
from workers.engine.session import Session
from workers.engine.spec.presets import EFFECTS, PRESETS, written_otherwise


@table(
    row(20, 5, 4, 5, id="four candidates with five cases each"),
    row(20, 100, 1, 20, id="one candidate takes all slots"),
    row(20, 1, 20, 1, id="one case each, as bandits ask"),
    row(10, 10, 1, 10, id="exactly one candidate"),
    row(20, 7, 2, 7, id="six slots are left over"),
    row(50, 30, 1, 30, id="twenty slots are left over"),
    row(1, 50, 1, 1, id="sequential"),
    row(20, 0, 20, 1, id="no cases known yet"),
    row(20, -3, 20, 1, id="a negative batch counts as unknown"),
    row(0, 5, 1, 1, id="no slots count as one"),
    row(-4, 0, 1, 1, id="negative slots count as one"),
)
def test_slots_are_split_as_documented(max_concurrent, batch_size, candidates, cases):
    assert allocate(max_concurrent, batch_size) == Allocation(candidates, cases)


@table(*product([1, 5, 10, 20, 50, 100], [0, 1, 2, 3, 5, 10, 20, 50, 100, 200]))
def test_an_allocation_never_exceeds_the_slots(max_concurrent, batch_size):
    candidates, cases = allocate(max_concurrent, batch_size)
    assert candidates >= 1
    assert cases >= 1
    assert candidates * cases <= max_concurrent


@table(
    row(0, 4, [], id="nothing to do"),
    row(3, 4, [3], id="less than one chunk"),
    row(8, 4, [4, 4], id="no remainder"),
    row(9, 4, [4, 4, 1], id="remainder"),
    row(3, 1, [1, 1, 1], id="one each"),
)
def test_split_keeps_every_trial_in_order(trials, size, sizes):
    chunks = split(range(trials), size)
    assert [len(chunk) for chunk in chunks] == sizes
    assert [trial for chunk in chunks for trial in chunk] == list(range(trials))
    with pytest.raises(ValueError, match="at least 1 trial"):
        split(range(trials), 0)


@table(
    *((n, None, size) for n, size in ((0, 5), (1, 5), (10, 5), (11, 6), (199, 100), (5_000, 100))),
    row(100, None, 50, id="unknown"),
    row(100, 0.2, 400, id="as much as all slots do in a while"),
    row(100, 2.0, 50, id="half the slots are more than that"),
    row(1000, 0.05, 500, id="calls of milliseconds come in large chunks"),
    row(10, 30.0, 5, id="slow calls"),
)
def test_a_chunk_is_half_the_slots_and_larger_for_fast_calls(max_concurrent, latency_seconds, size):
    assert chunk_size(max_concurrent, latency_seconds) == size


@table(
    row(20, 10, None, 2, 20, id="as many small ones, until the latency is known"),
    row(20, 320, 0.05, 2, 8, id="fast calls: the work of six seconds"),
    row(20, 10, 10.0, 2, 4, id="slow calls: what flies, and a few more"),
    row(20, 10, 10.0, 8, 16, id="something for every worker"),
    row(500, 400, 1.0, 2, 9, id="many slots"),
    row(20, 320, 0.0, 2, 64, id="cached answers hold no slot"),
    row(1000, 500, 0.005, 2, 64, id="never more than this"),
)
def test_a_run_holds_chunks_for_all_its_slots(max_concurrent, size, slot_seconds, workers, chunks):
    assert chunks_ahead(max_concurrent, size, slot_seconds, workers) == chunks


ROOM = Room(chunks=64, chunk_size=100, slots=50)
TESTED = {
    *("async_batch_size", "enable_async_evaluation: false", "genome_batch_size"),
    *("max_concurrent_genomes", "max_concurrent_requests"),
    *("async_timeout", "rate_limit_per_minute"),  # other names of limits: test_spec.py
    "detailed_performance_logging",  # tests/workers/test_runs.py
}


def configuration(genomes, **limits):
    prompts = [{"name": f"p{n}", "user": "{{question}}"} for n in range(genomes)]
    return read_configuration(evaluation("exact", prompts=prompts, limits=limits))


def begun(made, session, cases, open_keys):
    chunks = plan_chunks(session, made, cases, open_keys, ROOM)
    return list(dict.fromkeys(chunk[0].candidate for chunk in chunks))


def test_every_name_has_an_effect_and_a_test():
    assert set(written_otherwise()) == set(EFFECTS) == TESTED


def test_async_batch_size_is_what_is_taken_of_one_genome():
    made = configuration(3, async_batch_size=4, schedule="two_level")
    chunks = plan_chunks(Session(made.open_strategy(10)), made, 10, set(), ROOM)
    assert [len(chunk) for chunk in chunks] == [4, 4, 2] * 3
    assert all(len({trial.candidate for trial in chunk}) == 1 for chunk in chunks)
    assert calls_per_candidate(made, 10, 50) == 4


def test_genomes_begin_by_batches_and_no_more_than_max_concurrent_genomes():
    made = configuration(5, genome_batch_size=3, max_concurrent_genomes=2)
    session = Session(made.open_strategy(10))
    first, second = begun(made, session, 10, set())
    [third] = begun(made, session, 10, {second})
    assert begun(made, session, 10, {third}) == []  # there is room for two, but not in this batch
    assert len(begun(made, session, 10, set())) == 2
    assert len({first, second, third}) == 3
    # No more genomes are at work than max concurrent genomes.
    made = configuration(5, max_concurrent_genomes=2)
    session = Session(made.open_strategy(10))
    first, second = begun(made, session, 10, set())
    assert begun(made, session, 10, {first, second}) == []
    assert len(begun(made, session, 10, {second})) == 1


@table(
    row({}, None, id="alone: of each genome, and the endpoint's limit in all"),
    row({"max_concurrent_genomes": 3}, 12, id="with genomes"),
    row({"preset": "balanced"}, 20, id="with the genomes of a preset"),
    row({"preset": "balanced", "max_concurrent": 9}, 9, id="with a total"),
)
async def test_max_concurrent_requests_is_of_one_genome(simulator, plain, cases, given, at_once):
    limits = {"max_concurrent_requests": 4, "requests_per_minute": None, **given}
    assert read_configuration({**plain, "limits": limits}).limits.max_concurrent == at_once
    simulator.reset()
    simulator.change(latency_ms=5, gather=4)
    await run_document({**plain, "limits": limits}, cases, simulator.url)
    assert simulator.ledger()["peak_in_flight"] == 4  # of the only genome


@table(("conservative", 3, 5), ("balanced", 5, 10), ("aggressive", 8, 15))
def test_a_preset_has_the_genomes_and_the_calls_of_the_guide(preset, genomes, calls):
    made = configuration(20, preset=preset, schedule="two_level", attempts=2)
    assert made.limits.attempts == 2
    filled = {name: PRESETS[preset][name] for name in ("max_concurrent", "requests_per_minute")}
    assert {name: getattr(made.limits, name) for name in filled} == filled
    assert split_slots(made, 100, filled["max_concurrent"]) == (genomes, calls)
    assert made.limits.candidate_batch_size == {3: 5, 5: 10, 8: 15}[genomes]


async def test_without_async_evaluation_one_call_is_made_at_a_time(simulator, document, cases):
    document["limits"] = {"enable_async_evaluation": True}
    limits = read_configuration(document).limits
    assert (limits.schedule, limits.max_concurrent) == ("work_conserving", None)
    simulator.change(latency_ms=5)
    document["limits"] = {"enable_async_evaluation": False}
    await run_document(document, cases[:5], simulator.url)
    assert simulator.ledger()["peak_in_flight"] == 1
    document["limits"] |= {"schedule": "two_level"}
    with pytest.raises(ConfigurationError, match="Leave one of the two out"):
        read_configuration(document)


@table(
    ({}, (None, None, 4, 60.0)),
    ({"preset": "endpoint"}, (None, None, 4, 60.0)),
    ({"max_concurrent": 100}, (100, None, 4, 60.0)),
    ({"requests_per_minute": 600}, (None, 600, 4, 60.0)),
    ({"attempts": 1, "timeout_seconds": 5}, (None, None, 1, 5.0)),
    ({"preset": "balanced"}, (50, 3500, 4, 60.0)),
    ({"preset": "balanced", "max_concurrent": None}, (None, 3500, 4, 60.0)),
)
def test_a_field_beside_no_preset_changes_that_field_only(given, meant):
    limits = configuration(1, **given).limits
    found = (limits.max_concurrent, limits.requests_per_minute, limits.attempts)
    assert (*found, limits.timeout_seconds) == meant
    genomes = (limits.max_concurrent_candidates, limits.candidate_batch_size)
    assert (limits.schedule, genomes) == ("work_conserving", (None, None))  # every slot is busy
