"""Plays games and whole rollouts in the test's own process, with processes of their own."""

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from workers.engine.environments import ENVIRONMENTS
from workers.engine.here import run_here
from workers.engine.kinds import read_configuration
from workers.engine.kinds.rollout.report import Finished, Plan, RolloutReport, report_of
from workers.engine.playing.plans import Clocks, Episode, EpisodePlan, GamePlan, Player
from workers.engine.plugins import PLUGINS
from workers.engine.policies import Policy
from workers.engine.records import Case, Score

MODULE = "tests.engine.rollout.odd_players"


def plan_of(
    *players: Player,
    mission: str = "grid/harvest",
    agents: int | None = None,
    steps: int = 30,
    episodes: int = 2,
    clocks: Clocks | None = None,
    at_once: int = 1,
) -> GamePlan:
    family, _, variant = mission.partition("/")
    plans = tuple(EpisodePlan(seed, seed) for seed in range(episodes))
    environment = ENVIRONMENTS[family]()
    return GamePlan(
        environment, variant, agents, steps, players, clocks or Clocks(60.0), plans, at_once
    )


def player(policy: Policy, lane: str = "inline", share: float = 1.0) -> Player:
    return Player(policy, lane, share)


def digests(results: Sequence[Any]) -> list[str]:
    return [one.digest if isinstance(one, Episode) else one.told for one in results]


def record_of(episode: Episode) -> dict[str, Any]:
    assert episode.record is not None
    found: dict[str, Any] = orjson.loads(episode.record)
    return found


def steps_of(episode: Episode) -> list[Any]:
    """Of its replay: what was seen, done, earned, and the scene after it."""
    return list(record_of(episode)["play"])


def install(monkeypatch: pytest.MonkeyPatch, *things: type) -> list[str]:
    """As EVALSITE_PLUGINS does, for one test."""
    names = [f"{MODULE}.{thing.__name__}" for thing in things]
    for name, thing in zip(names, things, strict=True):
        monkeypatch.setitem(PLUGINS, name, thing)
    return names


def rollout(**changes: Any) -> dict[str, Any]:
    return {
        "kind": "rollout",
        "seed": 42,
        "missions": [{"environment": "grid/harvest", "max_steps": 30}],
        "policies": ["random", "seeker"],
        "episodes": 3,
        "jobs": 2,
        "action_timeout_ms": 60_000,
        **changes,
    }


async def played(document: dict[str, Any]) -> list[Score]:
    configuration = read_configuration(document)
    cases = configuration.make_cases() or []
    return await run_here(configuration, [Case(n, case) for n, case in enumerate(cases)], {})


async def reported(document: dict[str, Any]) -> RolloutReport:
    return report_for(document, await played(document))


def report_for(document: dict[str, Any], scores: Sequence[Score]) -> RolloutReport:
    configuration = read_configuration(document)
    cases = dict(enumerate(configuration.make_cases() or []))
    plan = Plan(configuration.make_candidates(), cases)
    return report_of(plan, [finished(score) for score in scores])


def finished(score: Score) -> Finished:
    trial = score.trial
    place = (trial.position, trial.candidate, trial.case)
    return Finished(*place, score.value, score.error, score.answer)
