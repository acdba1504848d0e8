"""Who plays whom: shares of policies over agents, and who sits where in an episode."""

from collections.abc import Sequence
from random import Random


def count_agents(agents: int, shares: Sequence[float]) -> list[int]:
    """By largest remainder; of equal remainders, the earlier one."""
    total = sum(shares)
    if total <= 0 or min(shares) < 0:
        raise ValueError("The shares of policies are numbers above 0.")
    ideals = [agents * share / total for share in shares]
    counts = [int(ideal) for ideal in ideals]
    left = agents - sum(counts)
    by_remainder = sorted(range(len(shares)), key=lambda place: counts[place] - ideals[place])
    for place in by_remainder[:left]:
        counts[place] += 1
    return counts


def assign(agents: int, shares: Sequence[float], seed: int) -> tuple[int, ...]:
    """The policy of each agent. A fresh generator for each episode: so an episode's seats do not
    depend on how many were drawn before, nor in which order episodes are played."""
    counts = count_agents(agents, shares)
    seats = [place for place, count in enumerate(counts) for _ in range(count)]
    Random(seed).shuffle(seats)
    return tuple(seats)
