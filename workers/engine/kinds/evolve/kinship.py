"""How good a prompt really is, judged by its own answers and by those of its relatives.

The best of many that saw few cases is often only the luckiest, and its children then show it: they
were made to be better, and are not. So a prompt is taken to differ little from its parents and
children, and what is known of all of them is weighed together. The fewer cases a prompt has seen,
the more its relatives count.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from workers.engine.kinds.evolve.population import Individual

SWEEPS = 20  # each brings the estimates nearer to each other; more change nothing that matters
LEAST_VARIANCE = 0.05  # of single scores: also where nearly all are right, few cases prove little
FIRST_SPREAD = 0.15  # how far first prompts are from their common mean, as a rule


class Kin(NamedTuple):
    """What is known of one prompt. Parents and children are places in the list of all."""

    total: float  # of its scores
    judged: int
    parents: tuple[int, ...]
    children: tuple[int, ...]


def estimate(individuals: Iterable[Individual], spread: float) -> dict[str, float]:
    """The score of each that was judged at all, by its key. A child is `spread` better or worse
    than the mean of its parents, as a rule."""
    known = [(one, values) for one in individuals if (values := values_of(one))]
    if not known:
        return {}
    kin = kin_of(known)
    common = fmean(value for _, values in known for value in values)
    noise = max(LEAST_VARIANCE, common * (1 - common))
    roots = [one.total / one.judged for one in kin if not one.parents]
    root = fmean(roots) if roots else common
    estimates = [one.total / one.judged for one in kin]
    for _ in range(SWEEPS):
        for place in range(len(kin)):
            estimates[place] = weigh(place, kin, estimates, noise, spread**2, root)
    return {one.key: value for (one, _), value in zip(known, estimates, strict=True)}


def values_of(one: Individual) -> list[float]:
    return [sample.value for sample in one.samples.values() if sample.value is not None]


def kin_of(known: Sequence[tuple[Individual, list[float]]]) -> list[Kin]:
    places = {one.key: place for place, (one, _) in enumerate(known)}
    parents = [tuple(places[key] for key in one.birth.parents if key in places) for one, _ in known]
    children: list[list[int]] = [[] for _ in known]
    for place, found in enumerate(parents):
        for parent in found:
            children[parent].append(place)
    return [
        Kin(sum(values), len(values), parents[place], tuple(children[place]))
        for place, (_, values) in enumerate(known)
    ]


def weigh(
    place: int,
    kin: Sequence[Kin],
    estimates: Sequence[float],
    noise: float,
    spread: float,
    root: float,
) -> float:
    """The likeliest score of one, if the estimates of its relatives are right: each says something
    about it, and counts by how sure that is. Noise and spread are variances."""
    one = kin[place]
    told, weight = one.total / noise, one.judged / noise
    if one.parents:
        told += fmean(estimates[parent] for parent in one.parents) / spread
        weight += 1 / spread
    else:
        told += root / FIRST_SPREAD**2
        weight += 1 / FIRST_SPREAD**2
    for child in one.children:
        many = len(kin[child].parents)
        others = sum(estimates[other] for other in kin[child].parents if other != place) / many
        told += (estimates[child] - others) / (many * spread)
        weight += 1 / (many**2 * spread)
    return told / weight
