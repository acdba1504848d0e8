"""How the agents of one policy act inside an episode: one after the other, or all at once.

The episode does not know which: it hands over the agents whose turn it is, and finds an action at
each of them. Whatever the lane, the actions are the same.
"""

import math
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Protocol

from workers.engine.playing.places import ActionLate, Alarm, Place, PolicyRaised
from workers.engine.playing.plans import Clocks
from workers.engine.policies import Policy, Seat


class Stepper(Protocol):
    seconds: float  # that agents took to act, in all
    exchange_seconds: float

    def reset(self, place: Place, seat: Seat) -> None: ...

    def act(self, places: Sequence[Place], step: int) -> None:
        """Give each of them an action. PolicyRaised if the policy fails."""
        ...

    @property
    def is_stuck(self) -> bool:
        """Whether something of it still runs that nobody can end."""
        ...

    def close(self) -> None: ...


class Inline:
    """One agent after the other."""

    is_stuck = False
    exchange_seconds = 0.0

    def __init__(self, policy: Policy, clocks: Clocks, alarm: Alarm) -> None:
        self._policy = policy
        self.step = policy.step
        self._clocks = clocks
        self.limit = math.inf if clocks.action_seconds is None else clocks.action_seconds
        self.alarm = alarm
        self.seconds = 0.0

    def reset(self, place: Place, seat: Seat) -> None:
        place.state = reset_state(self._policy, seat)

    def act(self, places: Sequence[Place], step: int) -> None:
        begun = now = time.perf_counter()
        for place in places:
            now = self._act_one(place, step, now)
        self.seconds += now - begun

    def _act_one(self, place: Place, step: int, begun: float) -> float:
        """When it was done, by time.perf_counter. Once for every action of a run: it does nothing
        that can be done before."""
        alarm, limit = self.alarm, self.limit
        try:
            alarm.due = begun + limit + (place.overage_left or 0.0)
            action = self.step(place.observation, place.state)
            alarm.due = None
        except BaseException as error:  # noqa: BLE001 - told apart there
            self.note_failure(error, place, step)
            return time.perf_counter()
        now = time.perf_counter()
        if now - begun <= limit:
            place.action = action
        else:
            self.note_late(action, now - begun, place, step)
        return now

    def note_late(self, action: Any, took: float, place: Place, step: int) -> None:
        place.take(action, took, self._clocks, step)

    def note_failure(self, error: BaseException, place: Place, step: int) -> None:
        """No action arrived: it was interrupted, or the policy fails, as it may in any way."""
        self.alarm.due = None
        if isinstance(error, ActionLate):
            place.miss(step)
            return
        if isinstance(error, Exception):
            raise PolicyRaised(place.agent, error) from None
        raise error

    def close(self) -> None:
        pass  # nothing is open


class Batched:
    """All agents in one call, also those of other episodes. Its time is charged to each of them."""

    is_stuck = False
    exchange_seconds = 0.0

    def __init__(self, policy: Policy, clocks: Clocks, alarm: Alarm) -> None:
        self._policy = policy
        self._clocks = clocks
        self._limit = clocks.action_seconds
        self._alarm = alarm
        self.seconds = 0.0

    def reset(self, place: Place, seat: Seat) -> None:
        place.state = reset_state(self._policy, seat)

    def act(self, places: Sequence[Place], step: int) -> None:
        if not places:
            return
        limit = self._limit
        patience = None if limit is None else limit + max(one.overage_left or 0.0 for one in places)
        seen = [place.observation for place in places]
        states = [place.state for place in places]
        try:
            actions, took = self._alarm.call(patience, self._policy.step_batch, seen, states)
        except ActionLate:
            self.seconds += patience or 0.0
            for place in places:
                place.miss(step)
            return
        except Exception as error:  # noqa: BLE001 - it is not ours, and may fail as it likes
            raise PolicyRaised(places[0].agent, error) from None
        if len(actions) != len(places):
            told = f"{len(actions)} actions came from step_batch for {len(places)} agents"
            raise PolicyRaised(places[0].agent, told)
        self.seconds += took
        is_late = limit is not None and took > limit
        for place, action in zip(places, actions, strict=True):
            if is_late:
                place.take(action, took, self._clocks, step)
            else:
                place.action = action

    def close(self) -> None:
        pass  # nothing is open


class Threaded:
    """Agents in threads, for policies that wait. A thread that hangs cannot be ended: its agent
    does nothing until it is back, and the process is replaced after the episode."""

    exchange_seconds = 0.0

    def __init__(self, policy: Policy, clocks: Clocks, at_once: int) -> None:
        self._policy = policy
        self._clocks = clocks
        self._pool = ThreadPoolExecutor(max(1, at_once), thread_name_prefix="agents")
        self._at_once = max(1, at_once)
        self._hanging: dict[tuple[int, int], Future[Any]] = {}
        self.seconds = 0.0

    def reset(self, place: Place, seat: Seat) -> None:
        place.state = reset_state(self._policy, seat)

    def act(self, places: Sequence[Place], step: int) -> None:
        started = time.perf_counter()
        free = [place for place in places if not self._is_hanging(place)]
        calls = {place: self._pool.submit(self._timed, place) for place in free}
        for place in places:
            if place not in calls:
                place.miss(step)
        # Agents beyond the threads wait for one: that time is not theirs.
        turns = -(-len(free) // self._at_once)
        limits = [place.limit(self._clocks) for place in free]
        longest = max((one for one in limits if one is not None), default=None)
        wait(calls.values(), None if longest is None else turns * longest)
        for place, call in calls.items():
            self._settle(place, call, step)
        self.seconds += time.perf_counter() - started

    def _is_hanging(self, place: Place) -> bool:
        call = self._hanging.get((place.table, place.agent))
        return call is not None and not call.done()

    def _timed(self, place: Place) -> tuple[Any, float]:
        started = time.perf_counter()
        action = self._policy.step(place.observation, place.state)
        return action, time.perf_counter() - started

    def _settle(self, place: Place, call: Future[Any], step: int) -> None:
        if not call.done() and not call.cancel():
            self._hanging[place.table, place.agent] = call
        if not call.done() or call.cancelled():
            place.miss(step)
            return
        if (error := call.exception()) is not None:
            raise PolicyRaised(place.agent, error) from None
        action, took = call.result()
        place.take(action, took, self._clocks, step)

    @property
    def is_stuck(self) -> bool:
        return any(not call.done() for call in self._hanging.values())

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def reset_state(policy: Policy, seat: Seat) -> Any:
    try:
        return policy.reset(seat)
    except Exception as error:  # noqa: BLE001 - it is not ours, and may fail as it likes
        raise PolicyRaised(seat.agent, error) from None
