"""Plays a whole segment: environment and policy, step by step. Its calls follow each other; those
of other segments are made meanwhile."""

from collections import defaultdict
from itertools import repeat as again
from typing import ClassVar

from workers.engine.errors import CallError
from workers.engine.kinds.mutate.acting import Policy, choose, policy_of
from workers.engine.kinds.mutate.environment import QueryEnvironment, Transition
from workers.engine.kinds.mutate.rules import Rules, rules_of
from workers.engine.kinds.mutate.segments import (
    Place,
    RoleCalls,
    tell_segment,
    write_record,
    write_told,
)
from workers.engine.kinds.mutate.stages import StageFailed, Stages
from workers.engine.records import Candidate, Case, Outcome, Reply, Request
from workers.engine.targets import Ask, TargetParts


class Calls:
    """Counts the calls of a segment by their role."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.by_role: defaultdict[str, RoleCalls] = defaultdict(RoleCalls)
        self.replies: list[Reply] = []

    async def ask(self, request: Request) -> Reply:
        role = request.step
        try:
            reply = await self._ask(request)
        except CallError:
            self._add(role, RoleCalls(asked=1, failed=1))
            raise
        self.replies.append(reply)
        called_ms = 0.0 if reply.cached else reply.latency_ms
        self._add(role, RoleCalls(1, int(reply.cached), 0, reply.latency_ms, called_ms))
        return reply

    def _add(self, role: str, more: RoleCalls) -> None:
        self.by_role[role] = self.by_role[role].plus(more)

    def reply(self, text: str) -> Reply:
        """What the segment took in all."""
        return Reply(
            text,
            round(sum(one.latency_ms for one in self.replies), 3),
            tokens_in=sum(one.tokens_in or 0 for one in self.replies),
            tokens_out=sum(one.tokens_out or 0 for one in self.replies),
            cached=bool(self.replies) and all(one.cached for one in self.replies),
        )


class Player:
    """The steps of one segment."""

    def __init__(self, rules: Rules, policy: Policy, world: QueryEnvironment, place: Place) -> None:
        self._rules = rules
        self._policy = policy
        self._world = world
        self._place = place
        self.transitions: list[Transition] = []
        self.probabilities: list[float | None] = []

    async def play(self) -> None:
        for step in range(self._rules.num_steps):
            probability: float | None = None
            try:
                observation = await self._world.observe()
                occasion = (self._rules.seed, *self._place, step)
                action = choose(self._policy, observation, *occasion)
                probability = action.probability
                made = await self._world.step(action.place)
            except StageFailed as failed:
                made = self._world.skip(failed)
            self.transitions.append(made)
            self.probabilities.append(probability)


class SegmentTarget:
    is_one_call: ClassVar[bool] = False

    def __init__(self, parts: TargetParts) -> None:
        self._processes = parts.processes

    def opening(self, candidate: Candidate, case: Case, repeat: int) -> Request | None:
        return None  # what is asked depends on the policy

    async def answer(
        self, opening: Request | None, candidate: Candidate, case: Case, repeat: int, ask: Ask
    ) -> Reply | Outcome:
        """`repeat` is the number of the environment."""
        rules, calls = rules_of(candidate.document["rules"]), Calls(ask)
        stages = Stages(rules, calls.ask, self._processes, candidate.key)
        world = QueryEnvironment(rules, stages, again(case))
        place = Place(candidate.document["update"], repeat)
        player = Player(rules, policy_of(candidate.document["policy"]), world, place)
        await player.play()
        made = player.transitions
        told = tell_segment(place, rules.names, made, calls.by_role)
        if told.excluded == told.transitions:
            assert world.first_error is not None  # each of them had one
            raise world.first_error
        record = write_record(place, rules.names, player.probabilities, made, world.known)
        reply = calls.reply(write_told(told))
        return Outcome(reply, value=told.reward, record=record)
