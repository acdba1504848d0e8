"""How the scores of each candidate are spread: 20 bins, or two bars where all are 0 or 1."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.db.models import Count, F
from django.db.models.functions import Floor

from runs.models import Candidate, Run

MOST_CANDIDATES = 6
BINS = 20


class Bar(NamedTuple):
    """Places and heights in percent of the picture."""

    x: float
    width: float
    height: float
    label: str
    scores: int

    @property
    def y(self) -> float:
        return round(100 - self.height, 2)


class Histogram(NamedTuple):
    name: str
    n: int
    bars: list[Bar]

    @property
    def summary(self) -> str:
        """What a screen reader says instead of the picture."""
        parts = ", ".join(f"{bar.scores:,} at {bar.label}" for bar in self.bars if bar.scores)
        return f"Scores of {self.name[:200]}: {parts or 'none yet'}"


def draw_histograms(run: Run, ranked: Sequence[Candidate]) -> list[Histogram]:
    """Of the best ones; all with the same bars, so that they compare."""
    shown = [candidate for candidate in ranked if candidate.scored][:MOST_CANDIDATES]
    if all(is_binary(candidate) for candidate in shown):
        return [draw(candidate, right_and_wrong(candidate), ("0", "1")) for candidate in shown]
    counts = count_in_bins(run, shown)
    labels = [f"{place / BINS:.2f} to {(place + 1) / BINS:.2f}" for place in range(BINS)]
    return [draw(candidate, counts[candidate.pk], labels) for candidate in shown]


def is_binary(candidate: Candidate) -> bool:
    """Only numbers that are 0 or 1 add up to the sum of their squares."""
    return math.isclose(candidate.value_sum, candidate.value_square_sum, abs_tol=1e-9)


def right_and_wrong(candidate: Candidate) -> list[int]:
    right = round(candidate.value_sum)
    return [candidate.scored - right, right]


def count_in_bins(run: Run, shown: Sequence[Candidate]) -> Mapping[int, list[int]]:
    """What lies outside 0 to 1 is counted in the last bin of its side."""
    rows = (
        run.scores.filter(candidate__in=[candidate.pk for candidate in shown], value__isnull=False)
        .order_by()
        .annotate(bin=Floor(F("value") * BINS))
        .values_list("candidate_id", "bin")
        .annotate(count=Count("pk"))
    )
    counts: dict[int, list[int]] = defaultdict(lambda: [0] * BINS)
    for candidate_id, place, count in rows:
        counts[candidate_id][min(max(int(place), 0), BINS - 1)] += count
    return counts


def draw(candidate: Candidate, counts: Sequence[int], labels: Sequence[str]) -> Histogram:
    highest, width = max(*counts, 1), 100 / len(counts)
    bars = [
        Bar(round(place * width, 2), round(width, 2), round(100 * count / highest, 2), label, count)
        for place, (count, label) in enumerate(zip(counts, labels, strict=True))
    ]
    return Histogram(candidate.name, candidate.scored, bars)
