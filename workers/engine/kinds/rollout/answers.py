"""An episode as its trial keeps it: a short text beside the score, and the replay as its record."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from workers.engine.errors import (
    BadMission,
    CallError,
    EnvironmentFailed,
    PolicyFailed,
    TimedOut,
)
from workers.engine.json_text import to_json
from workers.engine.kinds.rollout.choosing import Choice
from workers.engine.playing.plans import Episode, Failure
from workers.engine.records import Outcome, Reply

CAUSES: dict[str, type[CallError]] = {
    "configuration": BadMission,
    "policy": PolicyFailed,
    "environment": EnvironmentFailed,
    "timeout": TimedOut,
}


class LaneTold(NamedTuple):
    """The lane of a policy, as the page says it."""

    lane: str
    reason: str
    warning: str = ""


class Told(NamedTuple):
    """What is known of an episode without its replay."""

    seed: int
    steps: int
    is_over: bool
    assignments: tuple[int, ...]
    rewards: tuple[float, ...]
    timeouts: tuple[int, ...]
    out_at: tuple[int | None, ...]
    game_stats: dict[str, float]
    agent_stats: tuple[dict[str, float], ...]
    digest: str
    seconds: float
    policy_seconds: float
    world_seconds: float
    exchange_seconds: float
    together: int  # episodes that were played side by side with it, itself included
    at_once: int  # agents that acted at once
    lanes: tuple[LaneTold, ...]  # of the policies, in their order
    started: float = 0.0  # seconds since 1970; 0: earlier versions did not note it
    drawn: bool = False  # its replay has pictures

    @property
    def late(self) -> int:
        """Actions that did not arrive in time."""
        return sum(self.timeouts)

    @property
    def lasting(self) -> list[Any]:
        """What must be the same however it was executed."""
        return [
            self.seed,
            self.steps,
            self.is_over,
            list(self.assignments),
            list(self.rewards),
            list(self.timeouts),
            self.digest,
        ]


def failure_error(failure: Failure) -> CallError:
    return CAUSES[failure.cause](failure.told)


def outcome_of(
    episode: Episode, choices: Sequence[Choice], *, together: int, at_once: int
) -> Outcome:
    lanes = [[one.lane, one.reason, one.warning] for one in choices]
    kept = episode._asdict()
    del kept["record"]
    kept |= {"together": together, "at_once": at_once, "lanes": lanes}
    text = to_json(kept).decode()
    reply = Reply(text, round(episode.seconds * 1000, 3))
    record = None if episode.record is None else orjson.Fragment(episode.record)
    return Outcome(reply, value=episode.value, record=record)


def read_told(answer: str) -> Told:
    found = orjson.loads(answer)
    found["lanes"] = tuple(LaneTold(*one) for one in found["lanes"])
    for name in ("assignments", "rewards", "timeouts", "out_at", "agent_stats"):
        found[name] = tuple(found[name])
    return Told(**found)
