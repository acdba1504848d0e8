"""How many calls are made at once, from measured latency."""

import asyncio
from collections.abc import Callable, Iterable

import pytest

from workers.engine.batch_sizes import AdaptiveSlots, BatchSize, LatencyByFlight


def settle(size: BatchSize, works_on: float) -> None:
    """A server that works on so many at once; the others wait."""
    for _ in range(200):
        size.note(0.5 * max(1.0, size.size / works_on))


@pytest.mark.parametrize(
    ("works_on", "found"),
    [
        pytest.param(1, 2, id="one at a time: never below the first size"),
        pytest.param(4, 4, id="its own number"),
        pytest.param(1000, 32, id="no more than it may"),
    ],
)
def test_it_stops_where_more_bring_nothing(works_on: int, found: int) -> None:
    size = BatchSize(most=32)
    settle(size, works_on)
    assert size.size == found


def test_waiting_at_the_server_is_told_with_what_to_do() -> None:
    waiting, free = BatchSize(most=32), BatchSize(most=32)
    settle(waiting, works_on=4)
    settle(free, works_on=1000)
    assert "8 calls at once take 2.0 times as long as 4" in waiting.advice
    assert "raise OLLAMA_NUM_PARALLEL" in waiting.advice
    assert not free.advice


async def test_no_more_are_under_way_than_the_size_says() -> None:
    size = BatchSize(most=8)
    slots = AdaptiveSlots(size, monotonic=lambda: 0.0)
    under_way = 0
    seen: set[int] = set()

    async def work() -> None:
        nonlocal under_way
        async with slots.hold():
            under_way += 1
            assert under_way <= 8
            seen.add(under_way)
            await asyncio.sleep(0)
            under_way -= 1

    await asyncio.gather(*(work() for _ in range(200)))
    assert max(seen) == 8


def notes(seconds_with: Callable[[int], float], sizes: Iterable[int]) -> LatencyByFlight:
    """Answers as a throttle sees them: with so many in flight, in no order of its choosing."""
    found = LatencyByFlight()
    for size in sizes:
        found.note(size, seconds_with(size))
    return found


@pytest.mark.parametrize(
    ("seconds_with", "sizes", "found"),
    [
        pytest.param(lambda size: 0.5 * max(1, size / 4), (1, 3, 4, 16), (4, 16), id="4 at once"),
        pytest.param(lambda size: 0.5, (1, 3, 4, 16), None, id="as fast with any number"),
        pytest.param(lambda size: 0.5 * size, (16,), None, id="nothing to compare with"),
        pytest.param(lambda size: 0.5 * size, (7, 8), None, id="about as many"),
        pytest.param(lambda size: 0.1 + 0.02 * size, (2, 8), None, id="slower, but worth it"),
    ],
)
def test_waiting_is_seen_with_whatever_is_in_flight(
    seconds_with: Callable[[int], float], sizes: tuple[int, ...], found: tuple[int, int] | None
) -> None:
    queueing = notes(seconds_with, sizes * 20).queueing()
    assert (queueing and (queueing.size, queueing.tried)) == found


def test_a_few_slow_answers_are_no_queue() -> None:
    assert notes(lambda size: 0.5 * size, (1, 16) * 11).queueing() is None
    assert notes(lambda size: 0.5 * size, (1, 16) * 12).queueing() is not None
