"""One agent that acts where its world is: a loop of its own, with nobody to take turns with.

The same as `act` of a stepper and `step` of a table in turn; but calls between objects, and lists
of one, take more time than many worlds.
"""

import time
from collections.abc import Callable
from typing import Any

from workers.engine.environments import OneStep
from workers.engine.lanes.child_program import describe
from workers.engine.playing.places import Place
from workers.engine.playing.plans import Failure
from workers.engine.playing.replay import Keeping, kept, plain
from workers.engine.playing.steppers import Inline


class Solo:
    """What was done and earned, step by step, until the agent is out or all is over."""

    def __init__(self, place: Place, stepper: Inline, step: Callable[[Any], OneStep]) -> None:
        self._place = place
        self._stepper = stepper
        self._step = step
        self.actions: list[Any] = []
        self.rewards: list[float] = []
        self.is_over = False
        self.failure: Failure | None = None
        self.acted = self.played = 0.0  # seconds

    def play(self, most_steps: int, keeping: Keeping) -> None:
        """Once for every step of a run: the loop does nothing that can be done before it."""
        place, stepper, step, clock = self._place, self._stepper, self._step, time.perf_counter
        alarm, act, limit = stepper.alarm, stepper.step, stepper.limit
        patience = limit + (place.overage_left or 0.0)
        kind, dtype, size, most_kept, keep_seen, keep_scene = keeping
        keep_action, keep_reward = self.actions.append, self.rewards.append
        observation, state, is_over = place.observation, place.state, False
        steps, acted, played, now = 0, 0.0, 0.0, clock()
        try:
            while steps < most_steps and not is_over and observation is not None:
                begun = now
                try:
                    alarm.due = begun + patience
                    action = act(observation, state)
                    alarm.due = None
                except BaseException as error:  # noqa: BLE001 - told apart there
                    stepper.note_failure(error, place, steps)
                    now, is_late = clock(), True
                else:
                    now = clock()
                    is_late = now - begun > limit
                    if is_late:
                        stepper.note_late(action, now - begun, place, steps)
                if is_late:
                    action, patience = place.action, limit + (place.overage_left or 0.0)
                    most_steps = most_steps if place.out_at is None else steps + 1
                acted += now - begun
                if type(action) is not int:
                    action = plain(action)
                if steps < most_kept:
                    is_usual = (
                        type(observation) is kind
                        and observation.dtype is dtype
                        and observation.size == size
                    )
                    keep_seen(observation.tobytes() if is_usual else kept(observation))
                begun = now
                try:
                    observation, reward, is_over, scene = step(action)
                except Exception as error:  # noqa: BLE001 - an environment may raise anything
                    self.failure = Failure("environment", describe(error), steps)
                    return
                now = clock()
                played += now - begun
                if steps < most_kept:
                    keep_scene(scene)
                keep_action(action)
                keep_reward(reward)
                steps += 1
        finally:
            place.observation, self.is_over = observation, is_over
            self.acted, self.played = acted, played
