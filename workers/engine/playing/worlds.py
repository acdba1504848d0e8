"""Worlds for the episodes that a process plays one after the other."""

from contextlib import suppress

from workers.engine.environments import World
from workers.engine.lanes.child_program import describe
from workers.engine.playing.plans import Failure, GamePlan


class Failed(Exception):
    """Ends the episodes that are played together."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Worlds:
    """A world is opened for each episode, unless its environment is known to leave nothing of one
    to the next: to open one takes as long as a dozen steps."""

    def __init__(self, plan: GamePlan) -> None:
        self._plan = plan
        self._free: list[World] = []

    def take(self) -> World:
        return self._free.pop() if self._free else open_world(self._plan)

    def give_back(self, world: World, *, is_whole: bool) -> None:
        """`is_whole`: its episode came to its end, so that nothing is known to be wrong with it."""
        if is_whole and self._plan.environment.can_play_on(self._plan.variant):
            self._free.append(world)
        else:
            close_world(world)

    def close(self) -> None:
        while self._free:
            close_world(self._free.pop())


def open_world(plan: GamePlan) -> World:
    try:
        return plan.environment.open(plan.variant, plan.agents)
    except ValueError as error:
        raise Failed(Failure("configuration", str(error))) from None
    except Exception as error:  # noqa: BLE001 - it is not ours, and may fail as it likes
        raise Failed(Failure("environment", describe(error))) from None


def close_world(world: World) -> None:
    with suppress(Exception):  # an environment may fail at its end, too: all is known by then
        world.close()
