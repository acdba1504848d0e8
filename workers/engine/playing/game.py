"""Plays episodes: in the process that was given them, one alone or several side by side."""

from collections.abc import Sequence

from workers.engine.lanes import child_program
from workers.engine.playing.agent_processes import HelperDied, Spread
from workers.engine.playing.places import Alarm, Place, PolicyRaised
from workers.engine.playing.plans import (
    BATCH,
    PROCESS,
    THREAD,
    EpisodePlan,
    Failure,
    GamePlan,
)
from workers.engine.playing.steppers import Batched, Inline, Stepper, Threaded
from workers.engine.playing.table import Result, Table
from workers.engine.playing.worlds import Failed, Worlds

Turns = list[tuple[Stepper, list[Place]]]
"""Who acts next, by policy."""


def play(plan: GamePlan) -> list[Result]:
    """In the order of the episodes. Side by side if a policy takes them in batches; should one
    fail there, each is played again alone, so that only the one at fault is lost."""
    worlds = Worlds(plan)
    try:
        if len(plan.episodes) > 1 and any(player.lane == BATCH for player in plan.players):
            found = play_together(plan, plan.episodes, worlds)
            if not any(isinstance(one, Failure) for one in found):
                return found
        return [one for each in plan.episodes for one in play_together(plan, [each], worlds)]
    finally:
        worlds.close()


def play_together(plan: GamePlan, episodes: Sequence[EpisodePlan], worlds: Worlds) -> list[Result]:
    alarm = Alarm(plan.clocks)
    steppers: list[Stepper] = []
    tables: list[Table] = []
    try:
        for each in episodes:
            tables.append(Table(plan, len(tables), each, worlds))
        steppers += [open_stepper(plan, number, alarm) for number in range(len(plan.players))]
        return Game(tables, steppers, plan.max_steps).play()
    except Failed as error:
        return [error.failure] * len(episodes)
    finally:
        if any(stepper.is_stuck for stepper in steppers):
            child_program.retire()
        for stepper in steppers:
            stepper.close()
        for table in tables:
            table.close()
        alarm.close()


def open_stepper(plan: GamePlan, number: int, alarm: Alarm) -> Stepper:
    player = plan.players[number]
    if player.lane == BATCH:
        return Batched(player.policy, plan.clocks, alarm)
    if player.lane == THREAD:
        return Threaded(player.policy, plan.clocks, plan.at_once)
    if player.lane == PROCESS and plan.at_once > 1:
        return Spread(player.policy, plan.clocks, plan.at_once)
    return Inline(player.policy, plan.clocks, alarm)


class Game:
    """Tables that are played step by step together, until each of them is over."""

    def __init__(
        self, tables: Sequence[Table], steppers: Sequence[Stepper], max_steps: int
    ) -> None:
        self._tables = tables
        self._steppers = steppers
        self._max_steps = max_steps
        self._step = 0

    def play(self) -> list[Result]:
        for table in self._tables:
            table.reset(self._steppers)
        try:
            self._begin_alone()
            self._go_on()
        except PolicyRaised as error:
            raise Failed(Failure("policy", str(error), self._step)) from None
        except HelperDied as error:
            raise Failed(Failure("timeout", str(error), self._step)) from None
        seconds = sum(stepper.seconds for stepper in self._steppers)
        exchange = sum(stepper.exchange_seconds for stepper in self._steppers)
        share = 1 / len(self._tables)
        return [table.result(seconds * share, exchange * share) for table in self._tables]

    def _begin_alone(self) -> None:
        """One agent that acts here, as in most environments, needs nobody to take turns with."""
        table, stepper = self._tables[0], self._steppers[0]
        is_alone = len(self._tables) == len(self._steppers) == len(table.places) == 1
        if not is_alone or not isinstance(stepper, Inline) or not table.waiting():
            return
        try:
            table.play_alone(stepper, self._max_steps)
        finally:
            self._step = table.steps

    def _go_on(self) -> None:
        """Once for every step of a run: it does nothing that can be done before."""
        live, is_changed = [table for table in self._tables if table.is_live], True
        turns: Turns = []
        while live and self._step < self._max_steps:
            if is_changed:
                turns, is_changed = self._turns(live), False
            for stepper, places in turns:
                stepper.act(places, self._step)
            for table in live:
                if table.step():
                    is_changed = True
            if is_changed:
                live = [table for table in live if table.is_live]
            self._step += 1

    def _turns(self, live: Sequence[Table]) -> Turns:
        """The same in every step until a table says otherwise."""
        turns: list[list[Place]] = [[] for _ in self._steppers]
        for table in live:
            for place in table.waiting():
                turns[place.player].append(place)
        return [turn for turn in zip(self._steppers, turns, strict=True) if turn[1]]
