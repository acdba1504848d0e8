"""One environment: a query that is rewritten step by step. Written once, for the segments of runs
and for notebooks.

It resets itself in the step that ends an episode (Gymnasium's autoreset mode SAME_STEP): the
observation after that step is the next episode's first. A step that fails leaves the environment
where it was, so that the other steps of the episode are what they would have been without it.
"""

from collections.abc import Iterator
from typing import NamedTuple

from workers.engine.errors import CallError
from workers.engine.kinds.mutate.goals import judged_case
from workers.engine.kinds.mutate.observing import Observation
from workers.engine.kinds.mutate.rules import Rules
from workers.engine.kinds.mutate.stages import StageFailed, Stages
from workers.engine.records import Case
from workers.engine.spec.template import render

AUTORESET_MODE = "same_step"


class Excluded(NamedTuple):
    """Why a transition has no reward."""

    role: str
    error: str  # its class
    message: str


class Transition(NamedTuple):
    """What one step did. `reward` is None where `excluded` says why."""

    step: int  # of the segment
    query: str  # that it began with
    action: int | None  # None: nothing could be chosen, as the query could not be encoded
    rewritten: str
    answer: str
    value: float | None  # what the scorers gave
    reward: float | None
    success: bool
    after: str  # the query that the episode goes on with, or ended with
    ends: bool  # the episode reached its last step
    excluded: Excluded | None = None


class Walk(NamedTuple):
    """A query that was rewritten, answered and judged."""

    rewritten: str
    answer: str
    value: float
    reward: float


class Own(NamedTuple):
    """The answer to the query as it was, as far as the goal needs it."""

    answer: str = ""
    value: float = 0.0


class QueryEnvironment:
    """`cases` gives the case of each episode: always the same one in a segment, the next one of a
    dataset in a notebook."""

    def __init__(self, rules: Rules, stages: Stages, cases: Iterator[Case]) -> None:
        self._rules = rules
        self._stages = stages
        self._cases = cases
        self.known: dict[str, Observation] = {}  # by query
        self._own: dict[str, Own] = {}  # by query
        self.first_error: CallError | None = None
        self.steps = 0  # of the segment
        self.reset()

    def reset(self) -> None:
        """Begins an episode. Nothing is asked before the first step."""
        self.case = next(self._cases)
        self.query = render(self._rules.query, self.case.fields)
        self._first_query = self.query
        self._in_episode = 0

    async def observe(self) -> Observation:
        """StageFailed if the query cannot be encoded."""
        found = self.known.get(self.query)
        if found is None:
            found = self.known[self.query] = await self._stages.encode(self.query)
        return found

    async def step(self, action: int) -> Transition:
        query = self.query
        try:
            walk = await self._walk(action)
            after = walk.rewritten if self._rules.carries(walk.reward) else query
            if after not in self.known:
                self.known[after] = await self._stages.encode(after)
        except StageFailed as failed:
            return self.skip(failed, action)
        ends = self._count()
        made = Transition(
            step=self.steps - 1,
            query=query,
            action=action,
            rewritten=walk.rewritten,
            answer=walk.answer,
            value=walk.value,
            reward=walk.reward,
            success=walk.reward > self._rules.success_above,
            after=after,
            ends=ends,
        )
        self.query = after
        self._end(ends)
        return made

    def skip(self, failed: StageFailed, action: int | None = None) -> Transition:
        """A step that failed: it counts as one, and changes nothing else."""
        self.first_error = self.first_error or failed.error
        ends, query = self._count(), self.query
        excluded = Excluded(failed.role, failed.error.name, str(failed.error)[:300])
        step = self.steps - 1
        made = Transition(step, query, action, "", "", None, None, False, query, ends, excluded)
        self._end(ends)
        return made

    async def _walk(self, action: int) -> Walk:
        goal = self._rules.goal
        if self.query not in self.known:  # a step needs the observation that it was chosen by
            self.known[self.query] = await self._stages.encode(self.query)
        rewritten = await self._stages.rewrite(action, self.query)
        own = await self._own_answer()
        answer = await self._stages.answer(rewritten)
        value = await self._stages.judge(answer, judged_case(self.case, goal, own.answer))
        return Walk(rewritten, answer, value, goal.reward(value, own.value))

    async def _own_answer(self) -> Own:
        """Asked and judged once."""
        goal, query = self._rules.goal, self._first_query
        if not goal.needs_own_answer:
            return Own()
        if query not in self._own:
            answer = await self._stages.answer(query)
            value = await self._stages.judge(answer, self.case) if goal.needs_own_value else 0.0
            self._own[query] = Own(answer, value)
        return self._own[query]

    def _count(self) -> bool:
        self.steps += 1
        self._in_episode += 1
        return self._in_episode >= self._rules.max_steps

    def _end(self, ends: bool) -> None:
        if ends:
            self.reset()
