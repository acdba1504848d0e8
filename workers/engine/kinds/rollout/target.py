"""Plays an episode: finds its lane, waits for a slot, and has a process play it."""

import asyncio
from collections import OrderedDict
from contextlib import suppress
from typing import ClassVar, NamedTuple

from workers.engine.errors import BadMission, CallError, WorkFailed
from workers.engine.json_text import digest
from workers.engine.kinds.rollout.answers import failure_error, outcome_of
from workers.engine.kinds.rollout.asking import play_asking
from workers.engine.kinds.rollout.choosing import Choice, choose
from workers.engine.kinds.rollout.groups import Groups
from workers.engine.kinds.rollout.rules import GameRules, episode_of, rules_of
from workers.engine.lanes.process_lane import pack_piece
from workers.engine.playing.game import play
from workers.engine.playing.measuring import Measured, get_ready, measure
from workers.engine.playing.plans import (
    ASYNC,
    BATCH,
    INLINE,
    PROCESS,
    THREAD,
    Episode,
    EpisodePlan,
    Failure,
)
from workers.engine.policies import CPU
from workers.engine.records import Candidate, Case, Outcome, Reply, Request
from workers.engine.targets import Ask, TargetParts

MOST_KNOWN = 256  # missions whose lanes are remembered; those of others are measured again
MEASURING_SECONDS = 60.0
NO_DEVICE = "the policy takes no device: its batches are not computed on {}"

Choices = tuple[Choice, ...]


class Known:
    """The lanes of one candidate in one mission, and how long its episodes take."""

    def __init__(
        self, choices: Choices, agents: int, record_bytes: int = 0, *, can_be_sent: bool = True
    ) -> None:
        self.choices = choices
        self.agents = agents
        self.can_be_sent = can_be_sent
        self.seconds: float | None = None  # of an episode, as last seen
        self.record_bytes = record_bytes  # of a replay: as guessed, then the largest that was seen
        self._has_seen = False

    def note(self, episode: Episode) -> None:
        self.seconds = episode.seconds
        before = self.record_bytes if self._has_seen else 0
        self.record_bytes = max(before, len(episode.record or b""))
        self._has_seen = True

    @property
    def inside(self) -> tuple[str, ...]:
        return tuple(choice.inside for choice in self.choices)

    @property
    def wants(self) -> int:
        """Slots that an episode has use for: agents of threads and processes act at once."""
        return self.agents if {THREAD, PROCESS} & set(self.inside) else 1


class Read(NamedTuple):
    rules: GameRules
    key: str  # under which their lanes are known


# A cache: an executor lives for seconds, and what is not here is measured again.
_known: OrderedDict[str, asyncio.Task[Known]] = OrderedDict()


class RolloutTarget:
    is_one_call: ClassVar[bool] = False

    def __init__(self, parts: TargetParts) -> None:
        self._parts = parts
        self._groups = Groups()
        self._read: dict[tuple[str, str], Read] = {}
        self._starting: set[asyncio.Task[None]] = set()

    def opening(self, candidate: Candidate, case: Case, repeat: int) -> Request | None:
        return None  # nothing is asked of a model before the game begins

    async def answer(
        self, opening: Request | None, candidate: Candidate, case: Case, repeat: int, ask: Ask
    ) -> Reply | Outcome:
        rules, key = self._rules(candidate, case)
        episode = episode_of(case, rules.pictures)
        if rules.asks:
            return await self._ask_along(rules, episode, candidate, ask)
        known = await self._know(rules, key, episode)
        if not known.can_be_sent:
            return await self._play_here(rules, known, episode)
        of = candidate.key, case.fields["mission"]
        return await self._groups.play(self._parts, of, rules, known, episode)

    def _rules(self, candidate: Candidate, case: Case) -> Read:
        """Read once: they are the same for all episodes of a candidate in a mission."""
        asked = case.fields["asked"]
        found = self._read.get((candidate.key, asked))
        if found is None:
            try:
                rules = rules_of(candidate, case)
            except ValueError as error:
                raise BadMission(str(error)) from None
            document = candidate.document
            key = digest([document["policies"], document["rules"], asked])
            found = self._read[candidate.key, asked] = Read(rules, key)
        return found

    async def _know(self, rules: GameRules, key: str, episode: EpisodePlan) -> Known:
        """Measured once for all episodes that come meanwhile."""
        key = f"{id(asyncio.get_running_loop())}/{key}"
        task = _known.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = _known[key] = asyncio.create_task(self._measure(rules, episode))
            while len(_known) > MOST_KNOWN:
                _known.popitem(last=False)
        return await asyncio.shield(task)

    async def _measure(self, rules: GameRules, episode: EpisodePlan) -> Known:
        inside = tuple(INLINE for _ in rules.policies)
        plan = rules.plan((episode,), inside)
        if told := why_not_sent(plan):
            choice = Choice(THREAD, INLINE, "it cannot be sent to another process", told)
            return Known(tuple(choice for _ in rules.policies), 1, can_be_sent=False)
        try:
            async with self._parts.slots.hold():
                if rules.jobs > 1:
                    self._start_another(rules)
                found = await self._parts.processes.call(
                    measure, plan, timeout_seconds=MEASURING_SECONDS, modules=rules.modules
                )
        except CallError as error:
            return unmeasured(rules, str(error))
        if isinstance(found, Failure):
            return unmeasured(rules, found.told)
        record_bytes = found.record_bytes if rules.keeps_replay else 0
        return Known(choices_for(rules, found), found.agents, record_bytes)

    def _start_another(self, rules: GameRules) -> None:
        """A process that will play beside the one that measures: to start one and import what it
        needs takes most of a second, which would else pass when its first episode is due."""

        async def start() -> None:
            with suppress(CallError):  # the episodes say what is wrong
                await self._parts.processes.call(get_ready, modules=rules.modules)

        task = asyncio.create_task(start())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _play_here(self, rules: GameRules, known: Known, episode: EpisodePlan) -> Outcome:
        """In a thread of this process. It cannot be ended there, only left alone."""
        plan = rules.plan((episode,), known.inside)
        async with self._parts.slots.hold():
            ended = await self._parts.threads.start(lambda: play(plan))
            try:
                async with asyncio.timeout(rules.episode_seconds + episode.drawing_seconds):
                    outcome = await asyncio.shield(ended)
            except TimeoutError:
                raise failure_error(Failure("timeout", late_text(rules))) from None
        if outcome.error is not None or outcome.value is None:
            raise WorkFailed(str(outcome.error))
        result = outcome.value[0]
        if isinstance(result, Failure):
            raise failure_error(result)
        return outcome_of(result, known.choices, together=1, at_once=1)

    async def _ask_along(
        self, rules: GameRules, episode: EpisodePlan, candidate: Candidate, ask: Ask
    ) -> Outcome:
        """Its calls have the slots, not the episode: a call that waits for its own would hang."""
        why = "it asks a model: all agents of all episodes ask at once, as the limits allow"
        choices = tuple(
            Choice(ASYNC, ASYNC, why if policy.asks else "it plays beside one that asks a model")
            for policy in rules.policies
        )
        try:
            async with asyncio.timeout(rules.episode_seconds + episode.drawing_seconds):
                found = await play_asking(rules, episode, candidate, ask, self._parts.threads)
        except TimeoutError:
            raise failure_error(Failure("timeout", late_text(rules))) from None
        if isinstance(found, Failure):
            raise failure_error(found)
        return outcome_of(found, choices, together=1, at_once=len(found.assignments))


def choices_for(rules: GameRules, found: Measured) -> Choices:
    by_agents = "agents" in rules.levels
    # Slots that are left over can only be known when an episode begins: more jobs than agents of
    # one episode can use would stay empty otherwise.
    chosen = [
        choose(lane, facts, spare=rules.jobs, by_agents=by_agents)
        for lane, facts in zip(rules.lanes, found.players, strict=True)
    ]
    return tuple(
        choice._replace(warning=NO_DEVICE.format(rules.device))
        if choice.inside == BATCH and rules.device != CPU and not policy.takes_device
        else choice
        for choice, policy in zip(chosen, rules.policies, strict=True)
    )


def unmeasured(rules: GameRules, why: str) -> Known:
    """What fails in the first steps may not fail in every episode: each says so itself."""
    told = f"its first steps could not be measured ({why})"
    plain = Choice(PROCESS, INLINE, "whole episodes in processes of their own", told)
    batched = Choice(BATCH, BATCH, "chosen by the configuration", told)
    choices = [
        batched if lane == BATCH and policy.has_batch else plain
        for lane, policy in zip(rules.lanes, rules.policies, strict=True)
    ]
    return Known(tuple(choices), 1)


def why_not_sent(plan: object) -> str:
    try:
        pack_piece(measure, (plan,), MEASURING_SECONDS)
    except CallError as error:
        return str(error)
    return ""


def late_text(rules: GameRules) -> str:
    return f"The episode took longer than {rules.episode_seconds:g} s. It was ended."
