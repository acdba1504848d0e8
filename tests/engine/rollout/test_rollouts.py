"""Whole rollouts: equal however they are played, and failures that are no zeros."""

from typing import Any

import orjson
import pytest

from tests.engine.rollout import odd_players as odd
from tests.engine.rollout.playing import install, played, report_for, reported, rollout
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.kinds.rollout.report import as_record, as_summary

pytestmark = pytest.mark.late  # it starts many processes

EVERYTHING = {
    "missions": [{"environment": "grid/*", "max_steps": 20}],
    "policies": ["random", "seeker", "network"],
}


@pytest.mark.late  # five seconds of all cores
async def test_parallel_is_sequential_bit_for_bit() -> None:
    expected = await reported(rollout(**EVERYTHING, jobs=1, levels=["missions"]))
    assert [mission.mission for mission in expected.missions] == [
        "grid/harvest",
        "grid/maze",
        "grid/crowd",
    ]
    for changes in ({"jobs": 4}, {"lane": "thread"}, {"lane": "batch", "jobs": 3}):
        found = await reported(rollout(**EVERYTHING, **changes))
        assert found.digest == expected.digest, changes
        assert as_summary(found) == as_summary(expected)
    other = await reported(rollout(**EVERYTHING, seed=43))
    assert other.digest != expected.digest


async def test_results_are_in_the_order_of_the_episodes_whatever_ends_first() -> None:
    document = rollout(jobs=4)
    scores = await played(document)
    expected = report_for(document, scores)
    assert report_for(document, scores[::-1]) == expected
    (mission,) = expected.missions
    assert [row.episode for row in mission.episodes] == [0, 0, 1, 1, 2, 2]
    assert [row.told.seed for row in mission.episodes if row.told] == [42, 42, 43, 43, 44, 44]


async def test_policies_share_agents_and_each_is_told_apart() -> None:
    policies = [{"name": "random", "share": 1}, {"name": "seeker", "share": 3, "lane": "batch"}]
    document = rollout(policies=policies, missions=["grid/crowd"], action_timeout_ms=None)
    document["missions"] = [{"environment": "grid/crowd", "max_steps": 30}]
    scores = await played(document)
    assert len(scores) == 3
    seats = [orjson.loads(score.answer)["assignments"] for score in scores]
    assert [sorted(one) for one in seats] == [[0, 0, 1, 1, 1, 1, 1, 1]] * 3
    record = as_record(report_for(document, scores))
    first, second = record["missions"][0]["policies"]
    assert (first["policy"], second["policy"]) == ("random", "seeker")
    assert first["mean_return"] < second["mean_return"]
    assert first["low"] <= first["mean_return"] <= first["high"]
    assert second["lane"]["warning"].startswith("the policy has no step_batch")


ODD: list[tuple[Any, str, str]] = [
    (odd.Raiser, "policy_error", "Step 0: Agent 0: RuntimeError: <b>no idea"),
    (odd.Crasher, "process_died", "exit code 3"),
    (odd.Glutton, "policy_error", "MemoryError"),
]


@pytest.mark.parametrize(("policy", "error", "message"), ODD)
async def test_an_episode_that_fails_is_an_error_and_never_zeros(
    policy: type, error: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,) = install(monkeypatch, policy)
    document = rollout(policies=[name, "still"], seed=1, episodes=2)
    scores = await played(document)
    failed = [score for score in scores if score.error]
    assert failed
    assert {(score.error, score.value) for score in failed} == {(error, None)}
    assert message in failed[0].message
    report = report_for(document, scores)
    mine, still = report.missions[0].policies
    assert mine.failed == len(failed)
    assert still.failed == 0
    assert still.episodes == 2
    assert mine.score is None or mine.score.n == 2 - len(failed)


async def test_of_episodes_played_side_by_side_only_the_one_at_fault_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (name,) = install(monkeypatch, odd.Raiser)
    scores = await played(rollout(policies=[{"name": name, "lane": "batch"}], seed=2, episodes=4))
    assert [score.error for score in scores] == ["", "policy_error", "", "policy_error"]


async def test_of_episodes_sent_together_only_the_one_that_ends_its_process_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (name,) = install(monkeypatch, odd.Fragile)
    scores = await played(rollout(policies=[name], seed=2, episodes=5, jobs=1))
    assert [score.error for score in scores] == ["", "process_died", "", "process_died", ""]


async def test_an_environment_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    (name,) = install(monkeypatch, odd.Broken)
    scores = await played(rollout(missions=[f"{name}/world"], policies=["still"]))
    assert {score.error for score in scores} == {"environment_error"}
    assert scores[0].message == "Step 2: OSError: the board fell off the table"


async def test_what_cannot_be_sent_is_played_here_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (name,) = install(monkeypatch, odd.Homebody)
    report = await reported(rollout(policies=[name]))
    lane = report.missions[0].policies[0].lane
    assert lane is not None
    assert lane.lane == "thread"
    assert "it stays at home" in lane.warning
    still = await reported(rollout(policies=[{"name": "cycle", "actions": [1]}]))
    ours = [row.told.digest for row in report.missions[0].episodes if row.told]
    assert ours == [row.told.digest for row in still.missions[0].episodes if row.told]


async def test_one_mission_mixes_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    sleeper, burner = install(monkeypatch, odd.Sleeper, odd.Burner)
    policies = [
        {"name": sleeper, "options": {"seconds": 0.002}, "share": 1, "lane": "thread"},
        {"name": burner, "options": {"rounds": 50}, "share": 1, "lane": "process"},
        {"name": "linear", "share": 2, "lane": "batch"},
    ]
    mixed = await reported(rollout(policies=policies, jobs=4))
    assert [row.lane.lane for row in mixed.missions[0].policies if row.lane] == [
        "thread",
        "process",
        "batch",
    ]
    plain = [{**one, "lane": "process"} for one in policies]
    sequential = await reported(rollout(policies=plain, jobs=1))
    assert mixed.digest == sequential.digest


async def test_episodes_of_a_mission_can_be_kept_one_after_the_other() -> None:
    levels = ["missions", "agents"]
    one_by_one = await reported(rollout(**EVERYTHING, levels=levels, jobs=4))
    assert one_by_one.digest == (await reported(rollout(**EVERYTHING, levels=["agents"]))).digest


@pytest.mark.parametrize(
    ("changes", "path", "told"),
    [
        ({"missions": ["grid/nowhere"]}, "missions.0", "harvest, maze, crowd"),
        ({"missions": ["moon/base"]}, "missions.0", "Unknown environment 'moon'"),
        ({"missions": ["gymnasium/os:system"]}, "missions.0", "no name of a Gymnasium"),
        ({"missions": ["pettingzoo/../os"]}, "missions.0", "no module of PettingZoo"),
        ({"policies": ["nobody"]}, "policies.0", "Unknown policy 'nobody'"),
        ({"policies": ["random", "random"]}, "policies", "Given twice"),
        ({"play": "each", "policies": [{"name": "random", "share": 2}]}, "", "play: together"),
        ({"lane": "async"}, "", "for policies that ask a model"),
        ({"scorers": ["exact"]}, "scorers", ""),
        ({"jobs": 0}, "jobs", ""),
    ],
)
def test_what_cannot_be_played_is_refused(changes: Any, path: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_configuration(rollout(**changes))
    assert any(one.path.startswith(path) and told in one.message for one in refused.value.problems)


def test_seeds_and_maps_of_episodes() -> None:
    missions = [{"environment": "grid/maze", "map_seed": 5}, "grid/crowd"]
    cases = read_configuration(rollout(missions=missions, episodes=2)).make_cases()
    assert cases is not None
    assert [(case["mission"], case["seed"], case["map_seed"]) for case in cases] == [
        ("grid/maze", "42", "5"),
        ("grid/crowd", "42", "42"),
        ("grid/maze", "43", "5"),
        ("grid/crowd", "43", "43"),
    ]


def test_jobs_are_the_limit_of_what_is_done_at_once() -> None:
    assert read_configuration(rollout(jobs=7)).limits.max_concurrent == 7
    both = read_configuration(rollout(jobs=7, limits={"max_concurrent": 3}))
    assert both.limits.max_concurrent == 3
