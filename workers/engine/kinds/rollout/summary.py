"""The summary of a mission, with the names and the arithmetic of cogames' own evaluation.

One number there is not what its name says: `avg_agent_metrics` is divided by the agents of a policy
and not by the episodes. It is kept, for those who compare with it, and the true mean stands beside.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Played(NamedTuple):
    """One episode, as far as its summary needs it."""

    assignments: Sequence[int]  # the policy of each agent
    rewards: Sequence[float]
    timeouts: Sequence[int]
    game_stats: Mapping[str, float]
    agent_stats: Sequence[Mapping[str, float]]


def summarise(episodes: Sequence[Sequence[Played]], policies: int) -> dict[str, Any]:
    """`episodes`: what was played under each seed: one game, or one for each policy alone."""
    games = [game for played in episodes for game in played]
    return {
        "episodes": len(episodes),
        "avg_game_stats": mean_stats([game.game_stats for game in games], len(games)),
        "per_episode_per_policy_avg_rewards": {
            str(number): [mean_reward(played, policy) for policy in range(policies)]
            for number, played in enumerate(episodes)
        },
        "policy_summaries": [summarise_policy(games, policy) for policy in range(policies)],
    }


def mean_reward(games: Sequence[Played], policy: int) -> float | None:
    """Of the agents that it played. None: it played none."""
    mine = [
        reward
        for game in games
        for seat, reward in zip(game.assignments, game.rewards, strict=True)
        if seat == policy
    ]
    return sum(mine) / len(mine) if mine else None


def summarise_policy(games: Sequence[Played], policy: int) -> dict[str, Any]:
    mine = [game for game in games if policy in game.assignments]
    agents = list(mine[0].assignments).count(policy) if mine else 0
    stats = [
        stats
        for game in mine
        for seat, stats in zip(game.assignments, game.agent_stats, strict=True)
        if seat == policy
    ]
    return {
        "agent_count": agents,
        "avg_agent_metrics": mean_stats(stats, agents),
        "true_avg_agent_metrics": mean_stats(stats, len(stats)),
        "action_timeouts": sum(
            late
            for game in mine
            for seat, late in zip(game.assignments, game.timeouts, strict=True)
            if seat == policy
        ),
    }


def mean_stats(rows: Sequence[Mapping[str, float]], n: int) -> dict[str, float]:
    totals: dict[str, float] = {}
    for row in rows:
        for name, value in row.items():
            totals[name] = totals.get(name, 0.0) + value
    return {name: totals[name] / n for name in sorted(totals)} if n else {}
