"""Games and whole rollouts in the test's own process, with processes of their own."""

from typing import Any

import orjson

from workers.engine.environments import ENVIRONMENTS
from workers.engine.here import run_here
from workers.engine.kinds import read_configuration
from workers.engine.kinds.rollout.report import Finished, Plan, report_of
from workers.engine.playing import game
from workers.engine.playing.plans import INLINE, Clocks, EpisodePlan, GamePlan, Player
from workers.engine.plugins import PLUGINS
from workers.engine.policies import POLICIES
from workers.engine.records import Case

play: Any = game.play  # whether an episode or a failure came of a plan, the test knows
MODULE = "tests.engine.rollout.odd_players"


def plan_of(policy, lane=INLINE, *, mission="grid/harvest", steps=30, episodes=2, **more):
    """One policy, which may be given by its name, plays all agents. `more`: of `GamePlan`."""
    family, _, variant = mission.partition("/")
    players = (Player(POLICIES[policy]() if isinstance(policy, str) else policy, lane),)
    plans = tuple(EpisodePlan(seed, seed) for seed in range(episodes))
    given = {"agents": None, "clocks": Clocks(60.0), "players": players, "episodes": plans, **more}
    return GamePlan(ENVIRONMENTS[family](), variant, max_steps=steps, **given)


def record_of(episode):
    return orjson.loads(episode.record)


def steps_of(episode):
    """Of its replay: what was seen, done, earned, and the scene after it."""
    return list(record_of(episode)["play"])


def install(monkeypatch, *things):
    """As EVALSITE_PLUGINS does, for one test."""
    names = [f"{MODULE}.{thing.__name__}" for thing in things]
    for name, thing in zip(names, things, strict=True):
        monkeypatch.setitem(PLUGINS, name, thing)
    return names


def rollout(**changes):
    mission = {"environment": "grid/harvest", "max_steps": 30}
    played = {"kind": "rollout", "missions": [mission], "policies": ["random", "seeker"]}
    return {**played, "seed": 42, "episodes": 3, "jobs": 2, "action_timeout_ms": 60_000, **changes}


def cases_of(document):
    return [Case(*one) for one in enumerate(read_configuration(document).make_cases() or [])]


async def played(document):
    return await run_here(read_configuration(document), cases_of(document), {})


async def reported(document):
    return report_for(document, await played(document))


def report_for(document, scores):
    configuration = read_configuration(document)
    cases = {case.position: case.fields for case in cases_of(document)}
    told = [(one.trial, one.value, one.error, one.answer) for one in scores]
    finished = [Finished(t.position, t.candidate, t.case, *more) for t, *more in told]
    return report_of(Plan(configuration.make_candidates(), cases), finished)
