"""The summary by the names and figures of the original, with what is odd about it."""

from typing import Any

import pytest

from workers.engine.kinds.rollout.summary import Played, summarise


def played(seats: list[int], rewards: list[float], late: list[int], **more: Any) -> Played:
    stats = more.get("stats", [{} for _ in seats])
    return Played(seats, rewards, late, more.get("game", {}), stats)


FIRST = [
    [
        played(
            [0, 0, 1],
            [2, 4, 3],
            [1, 0, 0],
            game={"objects": 4},
            stats=[{"stat_a": 1}, {"stat_a": 3}, {}],
        )
    ],
    [
        played(
            [0, 0, 1],
            [1, 5, 6],
            [0, 0, 2],
            game={"objects": 8},
            stats=[{"stat_a": 2}, {"stat_a": 4}, {"stat_b": 7}],
        )
    ],
]
SECOND = [
    [played([0, 1, 1], [10, 2, 4], [0, 0, 1])],
    [played([0, 1, 1], [6, 4, 6], [0, 2, 2])],
    [played([0, 1, 1], [6, 7, 8], [0, 0, 0])],
]


@pytest.mark.parametrize(
    ("episodes", "rewards", "late"),
    [
        pytest.param(FIRST, [[3, 3], [3, 6]], [1, 2], id="mission 1"),
        pytest.param(SECOND, [[10, 3], [6, 5], [6, 7.5]], [0, 5], id="mission 2"),
    ],
)
def test_rewards_and_timeouts(episodes: Any, rewards: Any, late: list[int]) -> None:
    found = summarise(episodes, policies=2)
    assert found["episodes"] == len(episodes)
    by_episode = found["per_episode_per_policy_avg_rewards"]
    assert list(by_episode) == [str(number) for number in range(len(episodes))]
    assert list(by_episode.values()) == rewards
    assert [one["action_timeouts"] for one in found["policy_summaries"]] == late


def test_the_mean_of_agent_metrics_is_odd_and_the_true_one_stands_beside() -> None:
    found = summarise(FIRST, policies=2)
    assert found["avg_game_stats"] == {"objects": 6}
    first, second = found["policy_summaries"]
    assert first["agent_count"] == 2
    assert first["avg_agent_metrics"] == {"stat_a": 5.0}
    assert first["true_avg_agent_metrics"] == {"stat_a": 2.5}
    assert second["agent_count"] == 1


def test_who_did_not_play_has_no_reward_instead_of_a_zero() -> None:
    found = summarise([[played([0, 0], [1, 3], [0, 0])]], policies=2)
    assert found["per_episode_per_policy_avg_rewards"] == {"0": [2, None]}
    assert found["policy_summaries"][1]["agent_count"] == 0
    assert found["policy_summaries"][1]["avg_agent_metrics"] == {}


def test_policies_that_play_alone_are_summarised_side_by_side() -> None:
    games = [[played([0, 0], [1, 3], [0, 0]), played([1, 1], [5, 5], [0, 1])]]
    found = summarise(games, policies=2)
    assert found["episodes"] == 1
    assert found["per_episode_per_policy_avg_rewards"] == {"0": [2, 5]}
