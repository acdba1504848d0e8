"""Whole rollouts: equal however they are played, and failures that are no zeros."""

from typing import Any

import numpy as np
import orjson
import pytest

from tests.engine.rollout import odd_players as odd
from tests.engine.rollout.playing import (
    install,
    plan_of,
    play,
    played,
    report_for,
    reported,
    rollout,
    steps_of,
)
from tests.engine.test_spec import problems_of
from tests.harness.table import row, table
from workers.engine.kinds import read_configuration
from workers.engine.kinds.rollout.report import as_record, as_summary
from workers.engine.kinds.rollout.summary import Played, summarise
from workers.engine.playing.replay import LARGEST_REPLAY, Replay

many_processes = pytest.mark.late
EVERYTHING = {
    "missions": [{"environment": "grid/*", "max_steps": 20}],
    "policies": ["random", "seeker", "network"],
}


@many_processes
async def test_parallel_is_sequential_bit_for_bit():
    expected = await reported(rollout(**EVERYTHING, jobs=1, levels=["missions"]))
    played_in = [mission.mission for mission in expected.missions]
    assert played_in == ["grid/harvest", "grid/maze", "grid/crowd"]
    in_turn = {"levels": ["missions", "agents"], "jobs": 4}  # episodes one after the other
    for changes in ({"jobs": 4}, {"lane": "thread"}, {"lane": "batch", "jobs": 3}, in_turn):
        found = await reported(rollout(**EVERYTHING, **changes))
        assert found.digest == expected.digest, changes
        assert as_summary(found) == as_summary(expected)
    assert (await reported(rollout(**EVERYTHING, seed=43))).digest != expected.digest


@many_processes
async def test_results_are_in_the_order_of_the_episodes_whatever_ends_first():
    document = rollout(jobs=4)
    scores = await played(document)
    expected = report_for(document, scores)
    assert report_for(document, scores[::-1]) == expected
    (mission,) = expected.missions
    assert [row.episode for row in mission.episodes] == [0, 0, 1, 1, 2, 2]
    assert [row.told.seed for row in mission.episodes if row.told] == [42, 42, 43, 43, 44, 44]


@many_processes
async def test_policies_share_agents_and_each_is_told_apart():
    policies = [{"name": "random", "share": 1}, {"name": "seeker", "share": 3, "lane": "batch"}]
    document = rollout(policies=policies, missions=["grid/crowd"], action_timeout_ms=None)
    document["missions"] = [{"environment": "grid/crowd", "max_steps": 30}]
    scores = await played(document)
    assert len(scores) == 3
    seats = [orjson.loads(score.answer)["assignments"] for score in scores]
    assert [sorted(one) for one in seats] == [[0, 0, 1, 1, 1, 1, 1, 1]] * 3
    first, second = as_record(report_for(document, scores))["missions"][0]["policies"]
    assert (first["policy"], second["policy"]) == ("random", "seeker")
    assert first["mean_return"] < second["mean_return"]
    assert first["low"] <= first["mean_return"] <= first["high"]
    assert second["lane"]["warning"].startswith("the policy has no step_batch")


ODD: list[tuple[Any, str, str]] = [
    (odd.Raiser, "policy_error", "Step 0: Agent 0: RuntimeError: <b>no idea"),
    (odd.Fragile, "process_died", "exit code 3"),
    (odd.Glutton, "policy_error", "MemoryError"),
]


@many_processes
@pytest.mark.parametrize(("policy", "error", "message"), ODD)
async def test_an_episode_that_fails_is_an_error_and_no_zeros(policy, error, message, monkeypatch):
    (name,) = install(monkeypatch, policy)
    document = rollout(policies=[name, "still"], seed=1, episodes=2)
    scores = await played(document)
    failed = [score for score in scores if score.error]
    assert failed
    assert {(score.error, score.value) for score in failed} == {(error, None)}
    assert message in failed[0].message
    mine, still = report_for(document, scores).missions[0].policies
    assert mine.failed == len(failed)
    assert (still.failed, still.episodes) == (0, 2)
    assert mine.score is None or mine.score.n == 2 - len(failed)


@many_processes
@table(
    row(odd.Raiser, "batch", "policy_error", id="played side by side"),
    row(odd.Fragile, "auto", "process_died", id="sent together"),
)
async def test_of_many_episodes_only_the_one_at_fault_fails(monkeypatch, policy, lane, error):
    (name,) = install(monkeypatch, policy)
    document = rollout(policies=[{"name": name, "lane": lane}], seed=2, episodes=5, jobs=1)
    assert [score.error for score in await played(document)] == ["", error, "", error, ""]


@many_processes
async def test_what_cannot_be_sent_is_played_here_and_says_so(monkeypatch):
    (name,) = install(monkeypatch, odd.Homebody)
    report = await reported(rollout(policies=[name]))
    lane = report.missions[0].policies[0].lane
    assert lane.lane == "thread"
    assert "it stays at home" in lane.warning
    still = await reported(rollout(policies=[{"name": "cycle", "actions": [1]}]))
    ours = [row.told.digest for row in report.missions[0].episodes if row.told]
    assert ours == [row.told.digest for row in still.missions[0].episodes if row.told]
    # An environment that fails is named.
    (name,) = install(monkeypatch, odd.Broken)
    scores = await played(rollout(missions=[f"{name}/harvest"], policies=["still"]))
    assert {score.error for score in scores} == {"environment_error"}
    assert scores[0].message == "Step 2: OSError: the board fell off the table"


@many_processes
async def test_one_mission_mixes_lanes(monkeypatch):
    (late,) = install(monkeypatch, odd.Late)
    policies = [
        {"name": late, "options": {"seconds": 0.002}, "share": 1, "lane": "thread"},
        {"name": "network", "share": 1, "lane": "process"},
        {"name": "linear", "share": 2, "lane": "batch"},
    ]
    mixed = await reported(rollout(policies=policies, jobs=4))
    lanes = [row.lane.lane for row in mixed.missions[0].policies if row.lane]
    assert lanes == ["thread", "process", "batch"]
    plain = [{**one, "lane": "process"} for one in policies]
    sequential = await reported(rollout(policies=plain, jobs=1))
    assert mixed.digest == sequential.digest


@table(
    ({"missions": ["grid/nowhere"]}, "missions.0", "harvest, maze, crowd"),
    ({"missions": ["moon/base"]}, "missions.0", "Unknown environment 'moon'"),
    ({"missions": ["gymnasium/os:system"]}, "missions.0", "no name of a Gymnasium"),
    ({"missions": ["gymnasium/Carpole-v1"]}, "missions.0", "Did you mean CartPole-v1"),
    ({"missions": ["pettingzoo/../os"]}, "missions.0", "no module of PettingZoo"),
    ({"policies": ["nobody"]}, "policies.0", "Unknown policy 'nobody'"),
    ({"policies": ["random", "random"]}, "policies", "Given twice"),
    ({"play": "each", "policies": [{"name": "random", "share": 2}]}, "", "play: together"),
    ({"lane": "async"}, "", "for policies that ask a model"),
    ({"scorers": ["exact"]}, "scorers", ""),
    ({"jobs": 0}, "jobs", ""),
)
def test_what_cannot_be_played_is_refused(changes, path, told):
    found = problems_of(rollout(**changes))
    assert any(place.startswith(path) and told in found[place] for place in found)


def test_seeds_and_maps_of_episodes_and_the_limit_of_jobs():
    missions = [{"environment": "grid/maze", "map_seed": 5}, "grid/crowd"]
    cases = read_configuration(rollout(missions=missions, episodes=2)).make_cases()
    assert cases is not None
    assert [(case["mission"], case["seed"], case["map_seed"]) for case in cases] == [
        ("grid/maze", "42", "5"),
        ("grid/crowd", "42", "42"),
        ("grid/maze", "43", "5"),
        ("grid/crowd", "43", "43"),
    ]
    assert read_configuration(rollout(jobs=7)).limits.max_concurrent == 7
    both = read_configuration(rollout(jobs=7, limits={"max_concurrent": 3}))
    assert both.limits.max_concurrent == 3


FLOATS = np.array([0.123456, 2.0], dtype=np.float32)


def kept(*steps):
    replay = Replay()
    for seen in steps:
        replay.see(seen)
        replay.note(None)
    agents = len(steps[0])
    nothing = [[0] * agents for _ in steps]
    found = orjson.loads(replay.text(nothing, nothing, {"assignments": nothing[0]}))
    assert found["kept"] == len(found["play"])
    return [step[0] for step in found["play"]]


@table(
    row(FLOATS, [0.12346, 2.0], id="rounded"),
    row(np.array([[0.0, 1.0], [1.0, 0.0]]), "0110", id="0 and 1 as a text"),
    row(np.array([3, 4], dtype=np.int64), [3.0, 4.0], id="whole numbers"),
    row(np.int64(7), [7.0], id="numpy's own number"),
    row(7, 7, id="a number"),
    row(None, None, id="out"),
    row({"a": 1}, None, id="no numbers"),
    row(np.zeros(129), None, id="too large"),
    row(np.array([object()]), None, id="an array of objects"),
)
def test_what_is_kept_of_an_observation(seen, shown):
    assert kept([seen, seen], [seen, seen]) == [[shown, shown]] * 2


def test_observations_that_change_are_kept_as_they_were():
    other = np.array([0.5, 0.25, 0.125])
    found = kept([FLOATS, FLOATS], [FLOATS.astype(np.float64), None], [other, FLOATS])
    rounded = [0.12346, 2.0]
    assert found == [[rounded] * 2, [rounded, None], [[0.5, 0.25, 0.125], rounded]]
    # An array that is used again is kept as it was.
    same, replay = np.array([1.5]), Replay()
    for value in (1.5, 2.5):
        same[:] = value
        replay.see([same])
        replay.note(None)
    found = orjson.loads(replay.text([[0], [0]], [[0], [0]], {"assignments": [0]}))
    assert [step[0] for step in found["play"]] == [[[1.5]], [[2.5]]]


def test_a_long_episode_is_cut_and_its_result_counts_all_steps():
    (found,) = play(plan_of("still", mission="grid/crowd", steps=1500, episodes=1))
    assert found.steps == 1500
    assert 500 < len(steps_of(found)) < 1500
    assert LARGEST_REPLAY / 2 < len(found.record or b"") <= LARGEST_REPLAY + 20_000


def facts(seats, rewards, late, **more):
    stats = more.get("stats", [{} for _ in seats])
    return Played(seats, rewards, late, more.get("game", {}), stats)


STATS = [{"stat_a": 1}, {"stat_a": 3}, {}], [{"stat_a": 2}, {"stat_a": 4}, {"stat_b": 7}]
FIRST = [
    [facts([0, 0, 1], [2, 4, 3], [1, 0, 0], game={"objects": 4}, stats=STATS[0])],
    [facts([0, 0, 1], [1, 5, 6], [0, 0, 2], game={"objects": 8}, stats=STATS[1])],
]
SECOND = [
    [facts([0, 1, 1], [10, 2, 4], [0, 0, 1])],
    [facts([0, 1, 1], [6, 4, 6], [0, 2, 2])],
    [facts([0, 1, 1], [6, 7, 8], [0, 0, 0])],
]


@table(
    row(FIRST, [[3, 3], [3, 6]], [1, 2], id="mission 1"),
    row(SECOND, [[10, 3], [6, 5], [6, 7.5]], [0, 5], id="mission 2"),
)
def test_rewards_and_timeouts(episodes, rewards, late):
    found = summarise(episodes, policies=2)
    assert found["episodes"] == len(episodes)
    by_episode = found["per_episode_per_policy_avg_rewards"]
    assert list(by_episode) == [str(number) for number in range(len(episodes))]
    assert list(by_episode.values()) == rewards
    assert [one["action_timeouts"] for one in found["policy_summaries"]] == late


def test_the_mean_of_agent_metrics_is_odd_and_the_true_one_stands_beside():
    found = summarise(FIRST, policies=2)
    assert found["avg_game_stats"] == {"objects": 6}
    first, second = found["policy_summaries"]
    assert (first["agent_count"], second["agent_count"]) == (2, 1)
    assert first["avg_agent_metrics"] == {"stat_a": 5.0}
    assert first["true_avg_agent_metrics"] == {"stat_a": 2.5}
    # Who did not play has no reward instead of a zero.
    found = summarise([[facts([0, 0], [1, 3], [0, 0])]], policies=2)
    assert found["per_episode_per_policy_avg_rewards"] == {"0": [2, None]}
    absent = found["policy_summaries"][1]
    assert (absent["agent_count"], absent["avg_agent_metrics"]) == (0, {})
    # Policies that play alone are summarised side by side.
    games = [[facts([0, 0], [1, 3], [0, 0]), facts([1, 1], [5, 5], [0, 1])]]
    found = summarise(games, policies=2)
    assert found["episodes"] == 1
    assert found["per_episode_per_policy_avg_rewards"] == {"0": [2, 5]}
