"""Episodes of policies that ask a model: their agents ask at once, the world waits for all."""

import asyncio
import time
from typing import Any

from workers.engine.errors import CallError
from workers.engine.kinds.rollout.rules import GameRules
from workers.engine.lanes import ThreadLane
from workers.engine.lanes.child_program import describe
from workers.engine.playing.places import Alarm, Place
from workers.engine.playing.plans import ASYNC, Episode, EpisodePlan, Failure
from workers.engine.playing.steppers import Inline
from workers.engine.playing.table import Table
from workers.engine.playing.worlds import Failed
from workers.engine.policies import AskingPolicy
from workers.engine.records import Candidate
from workers.engine.targets import Ask
from workers.engine.targets.chat import chat_request


async def play_asking(
    rules: GameRules, episode: EpisodePlan, candidate: Candidate, ask: Ask, threads: ThreadLane
) -> Episode | Failure:
    """The world computes in threads, not on the loop. CallError when a model does not answer."""
    game = AskingGame(rules, episode, candidate, ask)
    try:
        await in_thread(threads, game.open)
        while not game.is_over:
            await game.ask_all()
            await in_thread(threads, game.step)
        found: Episode | Failure = await in_thread(threads, game.result)
        return found
    except Failed as error:
        return error.failure
    finally:
        if game.table is not None:
            game.table.close()


class AskingGame:
    def __init__(
        self, rules: GameRules, episode: EpisodePlan, candidate: Candidate, ask: Ask
    ) -> None:
        self._rules = rules
        self._ask = ask
        self._candidate = candidate
        self._models = iter(candidate.document["models"])
        self._asked_of = [next(self._models) if policy.asks else None for policy in rules.policies]
        self._plan = rules.plan((episode,), tuple(ASYNC for _ in rules.policies))
        self._seconds = 0.0
        self._turn: list[Place] = []
        self.table: Table | None = None

    @property
    def is_over(self) -> bool:
        table = self._open_table
        is_done = table.is_over or table.failure is not None
        return is_done or table.steps >= self._plan.max_steps

    @property
    def _open_table(self) -> Table:
        assert self.table is not None  # it was opened first
        return self.table

    def open(self) -> None:
        clocks = self._rules.clocks
        self._steppers = [Inline(policy, clocks, Alarm(clocks)) for policy in self._rules.policies]
        self.table = Table(self._plan, 0, self._plan.episodes[0])
        self.table.reset(self._steppers)

    async def ask_all(self) -> None:
        started = time.perf_counter()
        self._turn = self._open_table.waiting()
        asking = [place for place in self._turn if self._rules.policies[place.player].asks]
        calls = [self._ask_one(place) for place in asking]
        # When one fails, the others are waited for: they are paid.
        for found in await asyncio.gather(*calls, return_exceptions=True):
            if found is not None:
                raise found
        self._seconds += time.perf_counter() - started

    async def _ask_one(self, place: Place) -> None:
        policy = self._rules.policies[place.player]
        assert isinstance(policy, AskingPolicy)  # the others act with the world
        try:
            place.action = await policy.ask_step(place.observation, place.state, self._asker(place))
        except CallError:
            raise
        except Exception as error:  # noqa: BLE001 - it is not ours, and may fail as it likes
            told = f"Agent {place.agent}: {describe(error)}"
            raise Failed(Failure("policy", told, self._open_table.steps)) from None

    def _asker(self, place: Place) -> Any:
        model = self._asked_of[place.player]
        assert model is not None  # it asks

        async def ask_text(question: str) -> str:
            messages = [{"role": "user", "content": question}]
            request = chat_request(model, messages, 0, self._candidate.key)
            return (await self._ask(request)).text

        return ask_text

    def step(self) -> None:
        table = self._open_table
        plain = [place for place in self._turn if not self._rules.policies[place.player].asks]
        for number, stepper in enumerate(self._steppers):
            stepper.act([place for place in plain if place.player == number], table.steps)
        table.step()

    def result(self) -> Episode | Failure:
        return self._open_table.result(self._seconds, 0.0)


async def in_thread(threads: ThreadLane, work: Any) -> Any:
    outcome = await (await threads.start(work))
    if outcome.error is not None:
        raise outcome.error
    return outcome.value
