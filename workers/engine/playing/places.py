"""One agent of an episode under way, and the clock that it acts by."""

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from workers.engine.lanes.child_program import describe
from workers.engine.playing.plans import Clocks

REPEAT_SECONDS = 0.05  # the alarm rings again: a policy may have caught the first one
SHORTEST_SECONDS = 1e-5  # 0 would switch the timer off


class ActionLate(BaseException):
    """Not an Exception: a policy that catches all of these would keep it to itself."""


class PolicyRaised(Exception):
    """What a policy raised, as text: its own exception may hold anything."""

    def __init__(self, agent: int, error: BaseException | str) -> None:
        told = error if isinstance(error, str) else describe(error)
        super().__init__(f"Agent {agent}: {told}")


class Place:
    """Where an agent is at: what it sees, what it remembers, what it did last."""

    __slots__ = (
        "action", "agent", "noop", "observation", "out_at", "overage_left", "player", "state",
        "table", "timeouts",
    )  # fmt: skip

    def __init__(self, table: int, agent: int, player: int, noop: Any, clocks: Clocks) -> None:
        self.table = table
        self.agent = agent
        self.player = player
        self.noop = noop
        self.observation: Any = None
        self.state: Any = None
        self.action: Any = None
        self.timeouts = 0
        self.overage_left = clocks.overage_seconds
        self.out_at: int | None = None

    def limit(self, clocks: Clocks) -> float | None:
        """How long its next action may take."""
        if clocks.action_seconds is None:
            return None
        return clocks.action_seconds + (self.overage_left or 0.0)

    def take(self, action: Any, took: float, clocks: Clocks, step: int) -> None:
        """An action that arrived. One that is late is paid for with the agent's overage."""
        limit = clocks.action_seconds
        if limit is None or took <= limit:
            self.action = action
            return
        if self.overage_left is None or took - limit > self.overage_left:
            self.miss(step)
            return
        self.overage_left -= took - limit
        self.action = action

    def miss(self, step: int) -> None:
        """No action arrived in time. With an overage that is spent, the agent is out."""
        self.action = self.noop
        self.timeouts += 1
        if self.overage_left is not None:
            self.overage_left = 0.0
            self.out_at = step if self.out_at is None else self.out_at


class Alarm:
    """Interrupts what hangs. Signals reach the main thread of a process only; elsewhere, what is
    late is known when it has come back.

    It rings once in the time of an action, looks whether one is late, and sets itself to when the
    one under way will be: to set a timer for every action would take longer than many actions.
    """

    def __init__(self, clocks: Clocks) -> None:
        self.due: float | None = None  # when the action under way is late, by time.perf_counter
        self._every = clocks.action_seconds  # no action has less
        is_main = threading.current_thread() is threading.main_thread()
        self._can_ring = is_main and self._every is not None
        if self._can_ring:
            self._before = signal.signal(signal.SIGALRM, self._ring)
            self._set(self._every)

    def _ring(self, *_: object) -> None:
        due = self.due
        if due is None:
            self._set(self._every)
            return
        left = due - time.perf_counter()
        if left > 0:
            self._set(left)
            return
        self._set(REPEAT_SECONDS)
        raise ActionLate

    def _set(self, seconds: float | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, max(seconds or 0.0, SHORTEST_SECONDS))

    def call(self, limit: float | None, act: Callable[..., Any], *given: Any) -> tuple[Any, float]:
        """What `act` gives, and the seconds that it took. ActionLate if that is more."""
        started = time.perf_counter()
        try:
            self.due = None if limit is None else started + limit
            found = act(*given)
        finally:
            self.due = None
        return found, time.perf_counter() - started

    def close(self) -> None:
        if self._can_ring:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)
