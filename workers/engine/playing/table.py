"""One episode under way: its world, its agents, and what is noted of it."""

import math
import time
from collections.abc import Sequence
from typing import Any

from workers.engine.environments import Stats, step_of_one
from workers.engine.json_text import digest
from workers.engine.lanes.child_program import describe
from workers.engine.playing.alone import Solo
from workers.engine.playing.assigning import assign
from workers.engine.playing.drawing import draw
from workers.engine.playing.places import Place, PolicyRaised
from workers.engine.playing.plans import Episode, EpisodePlan, Failure, GamePlan
from workers.engine.playing.replay import NOT_KEPT, Keeping, Replay, plain
from workers.engine.playing.steppers import Inline, Stepper
from workers.engine.playing.worlds import Failed, Worlds
from workers.engine.policies import Seat

Result = Episode | Failure


class Table:
    """One episode under way: its world, its agents and what was noted of it."""

    def __init__(
        self, plan: GamePlan, number: int, episode: EpisodePlan, worlds: Worlds | None = None
    ) -> None:
        """`worlds`: of several episodes, if there are others."""
        self._plan = plan
        self._worlds = worlds or Worlds(plan)
        self._is_whole = False
        self._episode = episode
        self.seed = episode.seed
        self._map_seed = episode.map_seed
        self.world = self._worlds.take()
        shares = [player.share for player in plan.players]
        self.assignments = assign(len(self.world.spaces), shares, episode.seed)
        self.places = [
            Place(number, agent, player, self.world.spaces[agent].noop, plan.clocks)
            for agent, player in enumerate(self.assignments)
        ]
        self.steps = 0
        self.is_over = False
        self.failure: Failure | None = None
        self.world_seconds = 0.0
        self._seen: Sequence[Any] = ()  # what agents see now
        self._actions: list[list[Any]] = []
        self._rewards: list[list[float]] = []
        self._replay = Replay(draws=episode.draws) if plan.keeps_replay else None
        self._started = time.perf_counter()
        self._began = time.time()
        self._is_drawn = False

    def reset(self, steppers: Sequence[Stepper]) -> None:
        try:
            seen = self.world.reset(self.seed, self._map_seed)
        except Exception as error:  # noqa: BLE001 - it is not ours, and may fail as it likes
            raise Failed(Failure("environment", describe(error))) from None
        self._seen = seen
        for place, observation in zip(self.places, seen, strict=True):
            place.observation = observation
            seat = self.seat_of(place, self._plan.device_of(place.player))
            try:
                steppers[place.player].reset(place, seat)
            except PolicyRaised as error:
                raise Failed(Failure("configuration", str(error))) from None

    @property
    def is_live(self) -> bool:
        return not self.is_over and self.failure is None

    def seat_of(self, place: Place, device: str) -> Seat:
        space = self.world.spaces[place.agent]
        return Seat(place.agent, space, f"{self.seed}/{place.agent}", device)

    def waiting(self) -> list[Place]:
        """Those whose turn it is to act; the others do nothing."""
        turn = []
        for place in self.places:
            if place.observation is None:
                place.action = None
            elif place.out_at is not None:
                place.action = place.noop
                place.timeouts += 1
            else:
                turn.append(place)
        return turn

    def step(self) -> bool:
        """Whether others act next: somebody is out, or the episode is over."""
        world, replay, clock, places = self.world, self._replay, time.perf_counter, self.places
        actions = [
            action if type(action := place.action) is int else plain(action) for place in places
        ]
        if replay is not None:
            replay.see(self._seen)
        started = clock()
        try:
            seen, rewards, is_over = world.step(actions)
            if replay is not None:
                replay.note(world.scene())
        except Exception as error:  # noqa: BLE001 - an environment may raise anything
            self.failure = Failure("environment", describe(error), self.steps)
            return True
        self.world_seconds += clock() - started
        self.is_over, self._seen = is_over, seen
        self.steps += 1
        self._actions.append(actions)
        self._rewards.append(list(rewards))
        is_changed = is_over
        for place, observation in zip(places, seen, strict=True):
            place.observation = observation
            if observation is None or place.out_at is not None:
                is_changed = True
        return is_changed

    def play_alone(self, stepper: Inline, most_steps: int) -> None:
        """From the first step, for one agent, until it is out or all is over."""
        (place,) = self.places
        step = step_of_one(self.world, with_scenes=self._replay is not None)
        solo = Solo(place, stepper, step)
        try:
            solo.play(most_steps, self._ask_replay(place.observation))
        finally:
            self.steps, self.is_over, self.failure = len(solo.actions), solo.is_over, solo.failure
            self._seen = [place.observation]
            self._actions = [[action] for action in solo.actions]
            self._rewards = [[reward] for reward in solo.rewards]
            self.world_seconds = solo.played
            stepper.seconds += solo.acted
            if self._replay is not None:
                self._replay.fill(self.steps)

    def _ask_replay(self, first: Any) -> Keeping:
        return NOT_KEPT if self._replay is None else self._replay.open_for_one(first)

    def result(self, policy_seconds: float, exchange_seconds: float) -> Result:
        if self.failure is not None:
            return self.failure
        rewards = tuple(float(sum(column)) for column in zip(*self._rewards, strict=True))
        if not all(map(math.isfinite, rewards)):
            return Failure("environment", f"A reward is no finite number: {rewards}.")
        stats = self.world.stats()
        found = Episode(
            seed=self.seed,
            steps=self.steps,
            is_over=self.is_over,
            assignments=self.assignments,
            rewards=rewards,
            timeouts=tuple(place.timeouts for place in self.places),
            out_at=tuple(place.out_at for place in self.places),
            game_stats=stats.game,
            agent_stats=stats.agents,
            digest=digest([self.assignments, self._actions, self._rewards]),
            seconds=time.perf_counter() - self._started,
            policy_seconds=policy_seconds,
            world_seconds=self.world_seconds,
            exchange_seconds=exchange_seconds,
            record=self._record(self._replay, stats) if self._replay is not None else None,
            started=self._began,
            drawn=self._is_drawn,  # known when the record is
        )
        self._is_whole = True
        return found

    def _record(self, replay: Replay, stats: Stats) -> bytes:
        return replay.text(
            self._actions,
            self._rewards,
            {
                "environment": self._plan.variant,
                "seed": self.seed,
                "map_seed": self._map_seed,
                "assignments": list(self.assignments),
                "steps": self.steps,
                "sketch": self.world.sketch(),
                "stats": {"game": stats.game, "agent": stats.agents},
            },
            self._draw if self._episode.draws else None,
        )

    def _draw(self, kept: Sequence[Any]) -> dict[str, Any] | None:
        found = draw(self._plan, self._episode, self._actions, self._rewards, kept)
        self._is_drawn = bool(found and found["png"])
        return found

    def close(self) -> None:
        self._worlds.give_back(self.world, is_whole=self._is_whole)
