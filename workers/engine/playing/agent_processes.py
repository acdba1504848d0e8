"""Agents in processes of their own, inside an episode: for policies that compute long.

A helper is forked once for a game and keeps its agents' states; only observations and actions
travel. It belongs to the group of the process that plays, which ends with all that it started.
"""

import multiprocessing
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from workers.engine.lanes.child_program import describe
from workers.engine.playing.places import ActionLate, Alarm, Place, PolicyRaised
from workers.engine.playing.plans import Clocks
from workers.engine.playing.steppers import reset_state
from workers.engine.policies import Policy, Seat

GRACE_SECONDS = 5.0  # beyond its limits, for a helper whose policy no signal interrupts
END_SECONDS = 1.0

Key = tuple[int, int]  # table and agent


class HelperDied(Exception):
    """Hung where no signal reaches it, or crashed. It was ended."""


class Acted(NamedTuple):
    action: Any
    seconds: float
    is_late: bool = False
    error: str = ""


class Helper(NamedTuple):
    process: Any
    pipe: "Connection[Any, Any]"


class Spread:
    """Agents shared out over helpers, each with a process of its own."""

    is_stuck = False

    def __init__(self, policy: Policy, clocks: Clocks, at_once: int) -> None:
        self._clocks = clocks
        self._policy = policy
        self._helpers = [start_helper(policy, clocks) for _ in range(max(1, at_once))]
        self._owners: dict[Key, int] = {}
        self.seconds = 0.0
        self.exchange_seconds = 0.0

    def reset(self, place: Place, seat: Seat) -> None:
        key = (place.table, place.agent)
        self._owners.setdefault(key, len(self._owners) % len(self._helpers))
        self._ask(self._helpers[self._owners[key]], [("reset", key, seat)])
        answer = self._hear(self._helpers[self._owners[key]], None)[0]
        if answer.error:
            raise PolicyRaised(place.agent, answer.error)

    def act(self, places: Sequence[Place], step: int) -> None:
        started = time.perf_counter()
        shares: dict[int, list[Place]] = {}
        for place in places:
            shares.setdefault(self._owners[place.table, place.agent], []).append(place)
        for owner, mine in shares.items():
            self._ask(self._helpers[owner], [self._question(place) for place in mine])
        longest = 0.0
        for owner, mine in shares.items():
            answers = self._hear(self._helpers[owner], self._patience(mine))
            longest = max(longest, sum(answer.seconds for answer in answers))
            for place, answer in zip(mine, answers, strict=True):
                settle(place, answer, self._clocks, step)
        took = time.perf_counter() - started
        self.seconds += took
        self.exchange_seconds += max(0.0, took - longest)

    def _question(self, place: Place) -> tuple[str, Key, Any]:
        return "act", (place.table, place.agent), (place.observation, place.limit(self._clocks))

    def _patience(self, places: Sequence[Place]) -> float | None:
        limits = [place.limit(self._clocks) for place in places]
        known = [limit for limit in limits if limit is not None]
        return sum(known) + GRACE_SECONDS if len(known) == len(limits) else None

    def _ask(self, helper: Helper, questions: list[tuple[str, Key, Any]]) -> None:
        try:
            helper.pipe.send(questions)
        except OSError as error:
            raise HelperDied(f"The process of its agents is gone: {error}.") from None

    def _hear(self, helper: Helper, patience: float | None) -> list[Acted]:
        try:
            if not helper.pipe.poll(patience):
                helper.process.kill()
                raise HelperDied(f"No action within {patience:g} s. Its process was ended.")
            found: list[Acted] = helper.pipe.recv()
        except (EOFError, OSError):
            helper.process.join(END_SECONDS)
            code = helper.process.exitcode
            raise HelperDied(f"The process of its agents ended with exit code {code}.") from None
        return found

    def close(self) -> None:
        for helper in self._helpers:
            with suppress(OSError):
                helper.pipe.close()
            helper.process.join(0)
            helper.process.kill()
        for helper in self._helpers:
            helper.process.join(END_SECONDS)


def settle(place: Place, answer: Acted, clocks: Clocks, step: int) -> None:
    if answer.error:
        raise PolicyRaised(place.agent, answer.error)
    if answer.is_late:
        place.miss(step)
        return
    place.take(answer.action, answer.seconds, clocks, step)


def start_helper(policy: Policy, clocks: Clocks) -> Helper:
    """Forked, so that the policy need not be sent, and libraries are there already."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=help_on, args=(policy, clocks, theirs, ours), daemon=True)
    process.start()
    theirs.close()
    return Helper(process, ours)


def help_on(
    policy: Policy,
    clocks: Clocks,
    pipe: "Connection[Any, Any]",
    other: "Connection[Any, Any]",
) -> None:
    """The life of a helper: until the other side is closed."""
    other.close()
    alarm = Alarm(clocks)
    states: dict[Key, Any] = {}
    with suppress(EOFError, OSError):
        while True:
            answers = []
            for what, key, given in pipe.recv():
                if what == "reset":
                    answers.append(begin(policy, states, key, given))
                else:
                    answers.append(act_once(policy, alarm, states[key], *given))
            send_all(pipe, answers)


def begin(policy: Policy, states: dict[Key, Any], key: Key, seat: Seat) -> Acted:
    try:
        states[key] = reset_state(policy, seat)
    except PolicyRaised as error:
        return Acted(None, 0.0, error=str(error))
    return Acted(None, 0.0)


def act_once(
    policy: Policy, alarm: Alarm, state: Any, observation: Any, limit: float | None
) -> Acted:
    try:
        action, took = alarm.call(limit, policy.step, observation, state)
    except ActionLate:
        return Acted(None, limit or 0.0, is_late=True)
    except Exception as error:  # noqa: BLE001 - the edge of a process: told to the other side
        return Acted(None, 0.0, error=describe(error))
    return Acted(action, took)


def send_all(pipe: "Connection[Any, Any]", answers: list[Acted]) -> None:
    """An action that cannot be sent is the policy's fault, not the pipe's."""
    try:
        pipe.send(answers)
    except (TypeError, AttributeError, ValueError) as error:
        told = f"its action cannot be sent to another process ({describe(error)})"
        pipe.send([Acted(None, 0.0, error=told) for _ in answers])
