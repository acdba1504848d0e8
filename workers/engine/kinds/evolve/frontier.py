"""Parents for writers: not only the best on average, but each that is best at something.

A prompt that alone solves some case knows something that the others do not. So parents are drawn
by how many cases they are best at, as in reflective prompt evolution (GEPA). Those that add nothing
to the others are left out: everything that they are best at, a better one is best at, too.
"""

from collections.abc import Sequence
from random import Random

from workers.engine.kinds.evolve.population import Individual, Place


def draw_parent(random: Random, alive: Sequence[Individual], places: Sequence[Place]) -> Individual:
    return random.choices(alive, weights=best_at(alive, places), k=1)[0]


def draw_complement(
    random: Random, first: Individual, others: Sequence[Individual], places: Sequence[Place]
) -> Individual:
    """A second parent, by how many trials it does better at than the first: it knows what the
    other does not."""
    gains = [float(sum(is_better_at(place, one, first) for place in places)) for one in others]
    return random.choices(others, weights=gains if any(gains) else None, k=1)[0]


def is_better_at(place: Place, one: Individual, other: Individual) -> bool:
    return (one.value_at(place) or 0.0) > (other.value_at(place) or 0.0)


def best_at(alive: Sequence[Individual], places: Sequence[Place]) -> list[float]:
    """How many trials each is best at; 0 for those that add nothing to the others."""
    winners = [found for place in places if (found := winners_at(alive, place))]
    if not winners:
        return [1.0] * len(alive)
    kept = set(needed(alive, places, winners))
    return [
        float(sum(number in found for found in winners)) if number in kept else 0.0
        for number in range(len(alive))
    ]


def winners_at(alive: Sequence[Individual], place: Place) -> set[int]:
    """Empty if nobody got anything there."""
    values = [one.value_at(place) for one in alive]
    best = max((value for value in values if value is not None), default=0.0)
    return {number for number, value in enumerate(values) if best > 0 and value == best}


def needed(
    alive: Sequence[Individual], places: Sequence[Place], winners: Sequence[set[int]]
) -> list[int]:
    """The worst is left out first, if others are best wherever it is; and so on."""
    means = [one.mean_at(places) or 0.0 for one in alive]
    kept = sorted(range(len(alive)), key=lambda number: -means[number])
    for number in reversed(list(kept)):
        others = set(kept) - {number}
        if others and all(found & others for found in winners if number in found):
            kept.remove(number)
    return kept
