"""Two genomes become two others. Genes are words, or the sections of a prompt."""

from collections.abc import Callable, Mapping
from random import Random

Genes = tuple[str, ...]
Pair = tuple[Genes, Genes]
Cross = Callable[[Random, Genes, Genes], Pair]


def single_point(random: Random, a: Genes, b: Genes) -> Pair:
    shorter = min(len(a), len(b))
    return cut_at(random.randint(1, shorter - 1), a, b) if shorter > 1 else (a, b)


def two_point(random: Random, a: Genes, b: Genes) -> Pair:
    shorter = min(len(a), len(b))
    if shorter < 3:
        return single_point(random, a, b)
    first, last = sorted(random.sample(range(1, shorter), 2))
    return a[:first] + b[first:last] + a[last:], b[:first] + a[first:last] + b[last:]


def uniform(random: Random, a: Genes, b: Genes) -> Pair:
    """Every gene from one of the two; what only the longer one has goes to either child."""
    shorter = min(len(a), len(b))
    pairs = [(x, y) if random.random() < 0.5 else (y, x) for x, y in zip(a, b, strict=False)]
    one, other = tuple(x for x, _ in pairs), tuple(y for _, y in pairs)
    tail = a[shorter:] or b[shorter:]
    return (one + tail, other) if random.random() < 0.5 else (one, other + tail)


def blend(random: Random, a: Genes, b: Genes) -> Pair:
    """Cut in the middle third, where the beginning of one meets the end of the other."""
    shorter = min(len(a), len(b))
    if shorter < 3:
        return single_point(random, a, b)
    return cut_at(random.randint(max(1, shorter // 3), max(1, 2 * shorter // 3)), a, b)


def pick_genes(random: Random, a: Genes, b: Genes, rate: float) -> Genes:
    """One child: every gene from the first parent with this chance, else from the second."""
    chosen = [a if random.random() < rate else b for _ in range(max(len(a), len(b)))]
    return tuple(one[place] for place, one in enumerate(chosen) if place < len(one))


def cut_at(place: int, a: Genes, b: Genes) -> Pair:
    return a[:place] + b[place:], b[:place] + a[place:]


CROSSOVER: Mapping[str, Cross] = {
    "single_point": single_point,
    "two_point": two_point,
    "uniform": uniform,
    "blend": blend,
}
