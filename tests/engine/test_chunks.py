"""Slots are shared out as documented, and splitting loses no trial."""

import pytest

from workers.engine.chunks import Allocation, allocate, chunk_size, chunks_ahead, split


@pytest.mark.parametrize(
    ("max_concurrent", "batch_size", "candidates", "cases"),
    [
        pytest.param(20, 5, 4, 5, id="four candidates with five cases each"),
        pytest.param(20, 100, 1, 20, id="one candidate takes all slots"),
        pytest.param(20, 1, 20, 1, id="one case each, as bandits ask"),
        pytest.param(10, 10, 1, 10, id="exactly one candidate"),
        pytest.param(20, 7, 2, 7, id="six slots are left over"),
        pytest.param(20, 3, 6, 3, id="two slots are left over"),
        pytest.param(20, 11, 1, 11, id="nine slots are left over"),
        pytest.param(20, 15, 1, 15, id="five slots are left over"),
        pytest.param(50, 30, 1, 30, id="twenty slots are left over"),
        pytest.param(1, 50, 1, 1, id="sequential"),
        pytest.param(20, 0, 20, 1, id="no cases known yet"),
        pytest.param(20, -3, 20, 1, id="a negative batch counts as unknown"),
        pytest.param(0, 5, 1, 1, id="no slots count as one"),
        pytest.param(-4, 0, 1, 1, id="negative slots count as one"),
    ],
)
def test_slots_are_split_as_documented(max_concurrent, batch_size, candidates, cases):
    assert allocate(max_concurrent, batch_size) == Allocation(candidates, cases)


@pytest.mark.parametrize("max_concurrent", [1, 5, 10, 20, 50, 100])
@pytest.mark.parametrize("batch_size", [0, 1, 2, 3, 5, 10, 20, 50, 100, 200])
def test_an_allocation_never_exceeds_the_slots(max_concurrent, batch_size):
    candidates, cases = allocate(max_concurrent, batch_size)
    assert candidates >= 1
    assert cases >= 1
    assert candidates * cases <= max_concurrent


@pytest.mark.parametrize(
    ("trials", "size", "sizes"),
    [
        pytest.param(0, 4, [], id="nothing to do"),
        pytest.param(3, 4, [3], id="less than one chunk"),
        pytest.param(8, 4, [4, 4], id="no remainder"),
        pytest.param(9, 4, [4, 4, 1], id="remainder"),
        pytest.param(3, 1, [1, 1, 1], id="one each"),
    ],
)
def test_split_keeps_every_trial_in_order(trials, size, sizes):
    chunks = split(range(trials), size)
    assert [len(chunk) for chunk in chunks] == sizes
    assert [trial for chunk in chunks for trial in chunk] == list(range(trials))


def test_split_refuses_an_empty_chunk():
    with pytest.raises(ValueError, match="at least 1 trial"):
        split([1, 2], 0)


@pytest.mark.parametrize(
    ("max_concurrent", "size"),
    [(1, 5), (10, 5), (11, 6), (100, 50), (199, 100), (5_000, 100), (0, 5)],
)
def test_a_chunk_is_half_the_slots_within_bounds(max_concurrent, size):
    assert chunk_size(max_concurrent) == size


@pytest.mark.parametrize(
    ("max_concurrent", "latency_seconds", "size"),
    [
        pytest.param(100, None, 50, id="unknown"),
        pytest.param(100, 0.2, 400, id="as much as all slots do in a while"),
        pytest.param(100, 2.0, 50, id="half the slots are more than that"),
        pytest.param(1000, 0.05, 500, id="calls of milliseconds come in large chunks"),
        pytest.param(10, 30.0, 5, id="slow calls"),
    ],
)
def test_fast_calls_come_in_larger_chunks(max_concurrent, latency_seconds, size):
    assert chunk_size(max_concurrent, latency_seconds) == size


@pytest.mark.parametrize(
    ("max_concurrent", "size", "slot_seconds", "workers", "chunks"),
    [
        pytest.param(20, 10, None, 2, 20, id="as many small ones, until the latency is known"),
        pytest.param(20, 320, 0.05, 2, 8, id="fast calls: the work of six seconds"),
        pytest.param(20, 10, 10.0, 2, 4, id="slow calls: what flies, and a few more"),
        pytest.param(20, 10, 10.0, 8, 16, id="something for every worker"),
        pytest.param(500, 400, 1.0, 2, 9, id="many slots"),
        pytest.param(20, 320, 0.0, 2, 64, id="cached answers hold no slot"),
        pytest.param(1000, 500, 0.005, 2, 64, id="never more than this"),
    ],
)
def test_a_run_holds_as_many_chunks_as_keep_its_slots_busy(
    max_concurrent, size, slot_seconds, workers, chunks
):
    assert chunks_ahead(max_concurrent, size, slot_seconds, workers) == chunks
