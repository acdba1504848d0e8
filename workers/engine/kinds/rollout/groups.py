"""Episodes that wait for a slot: whoever gets one takes as many as are best played together."""

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from workers.engine.errors import ProcessDied, ResultTooLarge, TimedOut
from workers.engine.kinds.rollout.answers import failure_error, outcome_of
from workers.engine.kinds.rollout.rules import GameRules
from workers.engine.playing.game import play
from workers.engine.playing.plans import BATCH, PROCESS, Episode, EpisodePlan, Failure
from workers.engine.records import Outcome
from workers.engine.targets import TargetParts

if TYPE_CHECKING:
    from workers.engine.kinds.rollout.target import Known

PIECE_SECONDS = 0.25  # of short episodes, sent together: between two messages a process waits
MOST_TOGETHER = 128  # episodes in one message; should its process end, each is played alone
MOST_BYTES = 2_000_000  # of their replays: a result may have twice that
START_SECONDS = 30.0  # beyond the episodes' own, for the process to open their worlds


class Waiting(NamedTuple):
    episode: EpisodePlan
    ended: "asyncio.Future[Outcome]"


class Queue:
    """The episodes of one candidate in one mission, and who waits for a slot to play them."""

    def __init__(self) -> None:
        self.waiting: deque[Waiting] = deque()
        self.takers: set[asyncio.Task[None]] = set()

    def forget(self, mine: Waiting) -> None:
        """An episode that nobody waits for any more is not played."""
        with suppress(ValueError):  # it was taken before
            self.waiting.remove(mine)

    def dismiss(self) -> None:
        """What is not there needs no taker."""
        while len(self.takers) > len(self.waiting):
            self.takers.pop().cancel()


class Groups:
    """While an episode waits, as many takers wait for a slot as there are processes to play it; who
    gets one and finds the queue empty has nothing to do. So no slot stays free meanwhile."""

    def __init__(self) -> None:
        self._queues: dict[tuple[str, str], Queue] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def play(
        self,
        parts: TargetParts,
        of: tuple[str, str],
        rules: GameRules,
        known: "Known",
        episode: EpisodePlan,
    ) -> Outcome:
        """`of`: the candidate's key and the mission's name."""
        mine = Waiting(episode, asyncio.get_running_loop().create_future())
        queue = self._queues.setdefault(of, Queue())
        queue.waiting.append(mine)
        alone = "" if "episodes" in rules.levels else f"mission {of[1]}"
        self._hire(parts, queue, rules, known, alone)
        try:
            return await mine.ended
        except asyncio.CancelledError:
            queue.forget(mine)
            raise
        finally:
            queue.dismiss()

    def _hire(
        self, parts: TargetParts, queue: Queue, rules: GameRules, known: "Known", alone: str
    ) -> None:
        while len(queue.takers) < min(len(queue.waiting), parts.processes.size):
            taker = asyncio.create_task(self._take(parts, queue, rules, known, alone))
            queue.takers.add(taker)
            self._tasks.add(taker)
            taker.add_done_callback(self._tasks.discard)
            taker.add_done_callback(queue.takers.discard)

    async def _take(
        self, parts: TargetParts, queue: Queue, rules: GameRules, known: "Known", alone: str
    ) -> None:
        waiting = queue.waiting
        async with parts.slots.hold(known.wants, alone=alone) as slots:
            if BATCH in known.inside and len(waiting) < rules.jobs:
                await asyncio.sleep(rules.wait_seconds)
            me = asyncio.current_task()
            assert me is not None  # we are in one
            queue.takers.discard(me)  # from here on it is needed
            at_once = min(rules.jobs, parts.processes.size)
            size = size_of(rules, known, len(waiting), at_once)
            group = [waiting.popleft() for _ in range(size)]
            if not group:
                return
            self._hire(parts, queue, rules, known, alone)
            results = await play_group(parts, rules, known, group, slots)
        try:
            # Whoever has the slot now sends its episodes first: their process has nothing to do.
            await asyncio.sleep(0)
        finally:
            settle(known, group, results, slots)


def size_of(rules: GameRules, known: "Known", waiting: int, at_once: int) -> int:
    """How many episodes are played together: short ones, and those of a policy that takes batches;
    never so many that another of the processes that play `at_once` has nothing to do."""
    fair = -(-waiting // max(1, at_once))
    most = min(fair, MOST_TOGETHER, max(1, MOST_BYTES // max(1, known.record_bytes)))
    if BATCH in known.inside:
        return min(waiting, most, max(1, rules.most_rows // max(1, known.agents)))
    if known.seconds is None or PROCESS in known.inside:
        return min(waiting, 1)
    short = int(PIECE_SECONDS / max(known.seconds, 1e-6))
    return min(waiting, most, max(1, short))


async def play_group(
    parts: TargetParts, rules: GameRules, known: "Known", group: list[Waiting], slots: int
) -> list[Episode | Exception]:
    end_with_all(group)
    try:
        results = await play_there(parts, rules, known, group, slots)
    except asyncio.CancelledError:
        for one in group:
            one.ended.cancel()
        raise
    for found in results:
        if isinstance(found, Episode):
            known.note(found)
    return results


def settle(
    known: "Known", group: list[Waiting], results: list[Episode | Exception], slots: int
) -> None:
    together = len(group) if BATCH in known.inside else 1
    for one, result in zip(group, results, strict=True):
        if one.ended.done():
            continue
        if isinstance(result, Exception):
            one.ended.set_exception(result)
            continue
        found = outcome_of(result, known.choices, together=together, at_once=slots)
        one.ended.set_result(found)


async def play_there(
    parts: TargetParts, rules: GameRules, known: "Known", group: list[Waiting], slots: int
) -> list[Episode | Exception]:
    """In a process. If it ended, each is played again alone, so that only the one at fault fails:
    an episode must not depend on which others it was sent with."""
    plan = rules.plan(tuple(one.episode for one in group), known.inside, slots)
    shared = len(group) if BATCH in known.inside else 1  # side by side, they share the time
    drawing = sum(one.episode.drawing_seconds for one in group)
    seconds = rules.episode_seconds * shared + drawing + START_SECONDS
    try:
        results = await parts.processes.call(
            play, plan, timeout_seconds=seconds, modules=rules.modules
        )
    except (ProcessDied, TimedOut, ResultTooLarge) as error:
        if len(group) == 1:
            return [error]
        return [
            one for each in group for one in await play_there(parts, rules, known, [each], slots)
        ]
    except Exception as error:  # noqa: BLE001 - whatever it is, each of the episodes has it
        return [error for _ in group]
    return [failure_error(one) if isinstance(one, Failure) else one for one in results]


def end_with_all(group: list[Waiting]) -> None:
    """When nobody waits for any of them, their process is ended."""
    me = asyncio.current_task()

    def look(_: "asyncio.Future[Outcome]") -> None:
        if me is not None and all(one.ended.cancelled() for one in group):
            me.cancel()

    for one in group:
        one.ended.add_done_callback(look)
