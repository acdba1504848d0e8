"""Strategies as a package would bring them, which do not come to an end."""

import time
from typing import ClassVar

from workers.engine import overtime
from workers.engine.plugins import PLUGINS
from workers.engine.strategies.options import Options
from workers.engine.strategies.rounds import Pull, Rounds


class Spins(Rounds[Options]):
    label = "Never decides"
    summary = "Computes for ever."
    options_type = Options
    planning_seconds: ClassVar[float] = 0.5

    def next_pulls(self) -> list[Pull]:
        while True:
            pass


class Learns(Spins):
    """Asks for a round, and never comes to an end with what it is told."""

    def next_pulls(self) -> list[Pull]:
        if self.history:
            super().next_pulls()
        return self.pulls(self.alive, 2)


class Devours(Spins):
    """Takes memory until there is none."""

    planning_seconds: ClassVar[float] = 60.0

    def next_pulls(self) -> list[Pull]:
        taken = []
        while True:
            taken.append(bytearray(64 * 1024 * 1024))


class Sleeps(Spins):
    """Waits where no exception reaches it."""

    def next_pulls(self) -> list[Pull]:
        overtime.GRACE_SECONDS = 0.0  # it will not end, however long one waits
        time.sleep(3600)
        return []


def register() -> None:
    for one in (Spins, Learns, Devours, Sleeps):
        PLUGINS[f"{__name__}.{one.__name__}"] = one


register()
