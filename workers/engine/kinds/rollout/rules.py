"""What a candidate and a case say about an episode, read once."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from workers.engine.environments import Environment
from workers.engine.kinds.rollout.missions import Mission
from workers.engine.kinds.rollout.players import PolicyChoice
from workers.engine.playing.plans import Clocks, EpisodePlan, GamePlan, Player
from workers.engine.policies import CPU, Policy
from workers.engine.records import Candidate, Case

PLAYS = "workers.engine.playing.game"  # imported before the time of an episode begins


class GameRules(NamedTuple):
    """All that is the same in every episode of a candidate in a mission."""

    mission: Mission
    environment: Environment
    policies: tuple[Policy, ...]
    shares: tuple[float, ...]
    lanes: tuple[str, ...]
    clocks: Clocks
    levels: frozenset[str]
    most_rows: int
    device: str  # of batches
    wait_seconds: float
    episode_seconds: float
    keeps_replay: bool
    jobs: int
    pictures: str = "none"  # of which episodes: none, the first of a mission, or all

    @property
    def asks(self) -> bool:
        return any(policy.asks for policy in self.policies)

    @property
    def modules(self) -> frozenset[str]:
        found = {PLAYS, *self.environment.modules}
        for policy in self.policies:
            found |= policy.modules
        return frozenset(found)

    def plan(
        self, episodes: tuple[EpisodePlan, ...], inside: tuple[str, ...], at_once: int = 1
    ) -> GamePlan:
        mission = self.mission
        players = zip(self.policies, inside, self.shares, strict=True)
        return GamePlan(
            self.environment,
            mission.variant,
            mission.agents,
            mission.max_steps,
            tuple(Player(*player) for player in players),
            self.clocks,
            episodes,
            at_once,
            self.keeps_replay,
            self.device,
        )


def rules_of(candidate: Candidate, case: Case) -> GameRules:
    """ValueError says what of it is not there any more."""
    rules: Mapping[str, Any] = candidate.document["rules"]
    mission = Mission.model_validate(orjson.loads(case.fields["asked"]))
    written = candidate.document["policies"]
    chosen = [PolicyChoice(name=one["name"], options=one["options"]) for one in written]
    return GameRules(
        mission,
        mission.build(),
        tuple(one.build() for one in chosen),
        tuple(one["share"] for one in written),
        tuple(one["lane"] or rules["lane"] for one in written),
        Clocks(seconds_of(rules["action_timeout_ms"]), seconds_of(rules["overage_ms"])),
        frozenset(rules["levels"]),
        rules["batching"]["most"],
        rules["batching"].get("device", CPU),  # runs of earlier versions name none
        rules["batching"]["wait_ms"] / 1000,
        rules["episode_seconds"],
        rules["replays"],
        rules["jobs"],
        rules.get("pictures", "none"),  # runs of earlier versions had none
    )


def seconds_of(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def episode_of(case: Case, pictures: str = "none") -> EpisodePlan:
    fields = case.fields
    draws = pictures == "all" or (pictures == "first" and fields["episode"] == "0")
    return EpisodePlan(int(fields["seed"]), int(fields["map_seed"]), draws)
