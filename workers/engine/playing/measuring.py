"""Measures the first steps of a mission, in the process that would play it."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from workers.engine.lanes.child_program import describe, pack
from workers.engine.playing.places import Alarm, Place
from workers.engine.playing.plans import Failure, GamePlan
from workers.engine.playing.replay import LARGEST_REPLAY, Replay
from workers.engine.playing.steppers import Inline
from workers.engine.playing.table import Table
from workers.engine.playing.worlds import Failed
from workers.engine.policies import CPU, Policy

MOST_STEPS = 4  # of all agents; the first one warms up and is not counted
ENOUGH_SECONDS = 0.1  # of measuring one policy: slow ones need fewer steps
BATCH_ROWS = 16  # observations in the batch that is tried
BATCH_TRIES = 3  # the first one warms up


class Facts(NamedTuple):
    """Of one policy in one mission: seconds of one agent's action."""

    agents: int
    step_seconds: float
    cpu_seconds: float  # of these, that it computed; the rest it waited
    batch_seconds: float | None  # for each of many at once; None: it has no step_batch
    exchange_seconds: float  # to send an observation and an action to another process, guessed


class Measured(NamedTuple):
    agents: int
    players: tuple[Facts, ...]
    record_bytes: int = 0  # of a replay, guessed by what agents see first


def get_ready() -> None:
    """Nothing is left to do when it is called: whoever can call it has imported what plays."""


def measure(plan: GamePlan) -> Measured | Failure:
    """What a mission is like. Nothing of it reaches the episodes that are played."""
    alarm = Alarm(plan.clocks)
    tables: list[Table] = []
    try:
        tables.append(Table(plan, 0, plan.episodes[0]))
        steppers = [Inline(player.policy, plan.clocks, alarm) for player in plan.players]
        tables[0].reset(steppers)
        players = measure_players(plan, tables[0], alarm)
        return Measured(len(tables[0].places), players, guess_bytes(plan, tables[0].places))
    except Failed as error:
        return error.failure
    except Exception as error:  # noqa: BLE001 - a policy may raise anything
        return Failure("policy", describe(error), 0)
    finally:
        for table in tables:
            table.close()
        alarm.close()


def guess_bytes(plan: GamePlan, places: Sequence[Place]) -> int:
    """As if each step were like the first, with a few numbers more for what is done and earned."""
    replay = Replay()
    replay.see([place.observation for place in places])
    replay.note(None)
    nothing = [[0] * len(places)]
    step = len(replay.text(nothing, nothing, {"assignments": nothing[0]}))
    return min(LARGEST_REPLAY, step * plan.max_steps)


def measure_players(plan: GamePlan, table: Table, alarm: Alarm) -> tuple[Facts, ...]:
    turns: list[list[Place]] = [[] for _ in plan.players]
    for place in table.waiting():
        turns[place.player].append(place)
    limit = plan.clocks.action_seconds
    return tuple(
        measure_player(player.policy, places, limit, alarm)._replace(
            batch_seconds=measure_batch(plan, player.policy, table, places, alarm)
        )
        for player, places in zip(plan.players, turns, strict=True)
    )


def measure_player(
    policy: Any, places: Sequence[Place], limit: float | None, alarm: Alarm
) -> Facts:
    if not places:
        return Facts(0, 0.0, 0.0, None, 0.0)
    first, begun = places[0], time.perf_counter()
    taken: list[tuple[float, float]] = []
    for _ in range(MOST_STEPS):
        cpu = time.thread_time()
        action, took = alarm.call(limit, policy.step, first.observation, first.state)
        taken.append((took, time.thread_time() - cpu))
        if time.perf_counter() - begun > ENOUGH_SECONDS:
            break
    seconds, cpu = min(taken[1:] or taken)
    started = time.perf_counter()
    pack((first.observation, action))
    exchange = 2 * (time.perf_counter() - started) + 60e-6  # and two turns of a pipe
    return Facts(len(places), seconds, cpu, None, exchange)


def measure_batch(
    plan: GamePlan, policy: Policy, table: Table, places: Sequence[Place], alarm: Alarm
) -> float | None:
    """For each of many at once, on the device where they would be computed."""
    if not places or not policy.has_batch:
        return None
    device = plan.device if policy.takes_device else CPU
    some = [places[number % len(places)] for number in range(BATCH_ROWS)]
    states = [policy.reset(table.seat_of(one, device)) for one in some]
    seen = [one.observation for one in some]
    tries = [alarm.call(None, policy.step_batch, seen, states)[1] for _ in range(BATCH_TRIES)]
    return min(tries) / BATCH_ROWS
