"""The batch lane: which items travel together, and how many calls are made at once."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.engine.test_lanes import settle
from tests.harness.table import row, table
from workers.engine.batch_sizes import AdaptiveSlots, BatchSize, LatencyByFlight
from workers.engine.errors import CallError, LaneClosed, MalformedAnswer, ServerError
from workers.engine.lanes import BatchLane


class Bell:
    """A clock whose sleepers wake when a test rings."""

    def __init__(self) -> None:
        self.sleepers: list[tuple[float, asyncio.Event]] = []

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        rung = asyncio.Event()
        self.sleepers.append((seconds, rung))
        await rung.wait()

    def ring(self) -> None:
        for _, rung in self.sleepers:
            rung.set()


class Wire:
    """An async function that takes many items. It answers when a test lets it."""

    def __init__(self) -> None:
        self.sent: list[list[str]] = []
        self.cancelled: list[list[str]] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.error: BaseException | None = None
        self.surplus: list[str] = []

    async def __call__(self, items: Sequence[str]) -> list[str]:
        self.sent.append(list(items))
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.cancelled.append(list(items))
            raise
        if self.error is not None:
            raise self.error
        return [item.upper() for item in items] + self.surplus


@pytest.fixture
async def bell():
    return Bell()


@pytest.fixture
async def wire():
    return Wire()


@pytest.fixture
async def lane(wire, bell):
    return BatchLane(wire, most=3, wait_seconds=0.02, clock=bell)


def start(lane, letters):
    return [asyncio.create_task(lane.call(letter)) for letter in letters]


async def test_a_batch_that_is_not_full_waits_so_long_and_no_longer(lane, wire, bell):
    tasks = start(lane, "ab")
    await settle()
    assert wire.sent == []
    assert [seconds for seconds, _ in bell.sleepers] == [0.02]  # from its first item
    bell.ring()
    assert await asyncio.gather(*tasks) == ["A", "B"]
    assert wire.sent == [["a", "b"]]
    # Batches do not wait for each other.
    wire.may_answer.clear()
    first = start(lane, "abc")
    await settle()
    second = start(lane, "def")
    await settle()
    assert wire.sent[1:] == [["a", "b", "c"], ["d", "e", "f"]]
    wire.may_answer.set()
    assert await asyncio.gather(*first, *second) == list("ABCDEF")


async def test_a_full_batch_is_sent_at_once_and_its_time_ends_no_other(lane, wire, bell):
    assert await asyncio.gather(*start(lane, "cab")) == ["C", "A", "B"]
    assert await asyncio.gather(*start(lane, "aaa")) == ["A", "A", "A"]
    late = start(lane, "g")
    await settle()
    for _, rung in bell.sleepers[:-1]:
        rung.set()
    await settle()
    assert wire.sent == [["c", "a", "b"], ["a", "a", "a"]]  # equal items, too
    bell.ring()
    assert await late[0] == "G"


@table(
    row(ServerError("busy"), [], ServerError("busy"), id="an exception"),
    row(asyncio.CancelledError(), [], CallError(), id="it cancels itself"),
    row(None, ["X"], MalformedAnswer("4 results came back for 3 items."), id="one too many"),
)
async def test_what_goes_wrong_goes_to_every_caller(lane, wire, raised, surplus, told):
    wire.error, wire.surplus = raised, surplus
    ends = await asyncio.gather(*start(lane, "abc"), return_exceptions=True)
    assert [type(end) for end in ends] == [type(told)] * 3
    assert all(str(told) in str(end) for end in ends)
    wire.error, wire.surplus = None, []
    assert await asyncio.gather(*start(lane, "def")) == ["D", "E", "F"]


async def test_who_is_cancelled_makes_room_before_the_call_and_disturbs_nobody_in_it(lane, wire):
    a, b = start(lane, "ab")
    await settle()
    a.cancel()
    await settle()
    c, d = start(lane, "cd")
    assert [await b, await c, await d] == ["B", "C", "D"]
    assert wire.sent == [["b", "c", "d"]]
    # During the call.
    wire.may_answer.clear()
    a, b, c, *others = start(lane, "abcdef")
    await settle()
    for task in (b, *others):
        task.cancel()
    await settle()
    wire.may_answer.set()
    assert [await a, await c] == ["A", "C"]
    assert b.cancelled()
    assert wire.cancelled == [["d", "e", "f"]]  # a call that nobody waits for


async def test_a_batch_that_nobody_waits_for_is_not_sent(lane, wire, bell):
    [a] = start(lane, "a")
    await settle()
    a.cancel()
    await settle()
    bell.ring()
    [b] = start(lane, "b")
    await settle()
    assert wire.sent == []  # b has its own time, which has just begun
    bell.ring()
    assert await b == "B"
    assert wire.sent == [["b"]]


async def test_closing_ends_calls_and_refuses_more(lane, wire, bell):
    wire.may_answer.clear()
    tasks = start(lane, "abcd")
    await settle()
    await lane.close()
    ends = await asyncio.gather(*tasks, lane.call("e"), return_exceptions=True)
    assert [type(end) for end in ends] == [LaneClosed] * 5
    bell.ring()
    await settle()
    assert wire.sent == wire.cancelled == [["a", "b", "c"]]


@table(
    row(1, 2, "raise OLLAMA_NUM_PARALLEL", id="one at a time: never below the first size"),
    row(4, 4, "8 calls at once take 2.0 times as long as 4", id="its own number"),
    row(1000, 32, "", id="no more than it may, and nothing waits"),
)
def test_it_stops_where_more_bring_nothing_and_says_what_to_do(works_on, found, told):
    size = BatchSize(most=32)
    for _ in range(200):  # a server that works on so many at once; the others wait
        size.note(0.5 * max(1.0, size.size / works_on))
    assert size.size == found
    assert told in size.advice if told else size.advice == ""


async def test_no_more_are_under_way_than_the_size_says():
    slots = AdaptiveSlots(BatchSize(most=8), monotonic=lambda: 0.0)
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


def notes(seconds_with, sizes):
    """Answers as a throttle sees them: with so many in flight, in no order of its choosing."""
    found = LatencyByFlight()
    for size in sizes:
        found.note(size, seconds_with(size))
    return found


@table(
    row(lambda size: 0.5 * max(1, size / 4), (1, 3, 4, 16), (4, 16), id="4 at once"),
    row(lambda size: 0.5, (1, 3, 4, 16), None, id="as fast with any number"),
    row(lambda size: 0.5 * size, (16,), None, id="nothing to compare with"),
    row(lambda size: 0.5 * size, (7, 8), None, id="about as many"),
    row(lambda size: 0.1 + 0.02 * size, (2, 8), None, id="slower, but worth it"),
)
def test_waiting_is_seen_with_whatever_is_in_flight(seconds_with, sizes, found):
    queueing = notes(seconds_with, sizes * 20).queueing()
    assert (queueing and (queueing.size, queueing.tried)) == found


def test_a_few_slow_answers_are_no_queue():
    assert notes(lambda size: 0.5 * size, (1, 16) * 11).queueing() is None
    assert notes(lambda size: 0.5 * size, (1, 16) * 12).queueing() is not None
