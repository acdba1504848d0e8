"""Which of a generation become parents. Each is a function of chance and fitness alone.

A genome without a fitness, since its trials failed, is never chosen while another has one.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from random import Random

PRESSURE = 1.5  # of the ranks: how much likelier the best is chosen than the middle

Fitnesses = Sequence[float]
Select = Callable[[Random, Fitnesses, int, int], list[int]]


def tournament(random: Random, fitnesses: Fitnesses, count: int, size: int) -> list[int]:
    """Each parent is the best of a few that were drawn."""
    places = range(len(fitnesses))
    drawn = (random.sample(places, min(size, len(places))) for _ in range(count))
    return [max(sorted(some), key=lambda place: fitnesses[place]) for some in drawn]


def roulette(random: Random, fitnesses: Fitnesses, count: int, size: int) -> list[int]:
    """By chance, in proportion to the fitness."""
    return random.choices(range(len(fitnesses)), weights=shares(fitnesses), k=count)


def rank(random: Random, fitnesses: Fitnesses, count: int, size: int) -> list[int]:
    """By chance, in proportion to the place in the order: a single genius does not take all."""
    n = len(fitnesses)
    ascending = sorted(range(n), key=lambda place: (fitnesses[place], -place))
    last = max(1, n - 1)
    weights = [(2 - PRESSURE + 2 * (PRESSURE - 1) * r / last) / n for r in range(n)]
    return [ascending[r] for r in random.choices(range(n), weights=weights, k=count)]


def sus(random: Random, fitnesses: Fitnesses, count: int, size: int) -> list[int]:
    """Stochastic universal sampling: one turn of a wheel with as many pointers as parents."""
    edges = list(accumulate(shares(fitnesses)))
    step = edges[-1] / count
    start = random.random() * step
    chosen, place = [], 0
    for pointer in (start + number * step for number in range(count)):
        while place < len(edges) - 1 and edges[place] <= pointer:
            place += 1
        chosen.append(place)
    random.shuffle(chosen)  # neighbours on the wheel would always be mates
    return chosen


def elitist(random: Random, fitnesses: Fitnesses, count: int, size: int) -> list[int]:
    """The best, again and again: the better half in turn."""
    order = sorted(range(len(fitnesses)), key=lambda place: (-fitnesses[place], place))
    half = order[: max(2, len(order) // 2)]
    return [half[number % len(half)] for number in range(count)]


def shares(fitnesses: Fitnesses) -> list[float]:
    """As weights: alike if nobody has any."""
    return list(fitnesses) if sum(fitnesses) > 0 else [1.0] * len(fitnesses)


SELECTION: Mapping[str, Select] = {
    "tournament": tournament,
    "roulette": roulette,
    "rank": rank,
    "sus": sus,
    "elitist": elitist,
}
