"""How long a run takes that calls no model: from past trials of the same candidates."""

from typing import NamedTuple

from django.db.models import QuerySet

from runs.models import Candidate
from workers.engine.spec.configuration import Configuration
from workers.engine.statistics.intervals import merge_bins, percentile

NEWEST_CANDIDATES = 20  # older ones say less about today
ASSUMED_SECONDS = 1.0  # of a trial, when there is no history
QUARTILES = (0.25, 0.75)


class Computing(NamedTuple):
    low: float  # seconds
    high: float
    limited_by: str
    basis: str


def estimate_computing(configuration: Configuration, trials: int) -> Computing:
    """From the middle half of the times seen."""
    keys = [candidate.key for candidate in configuration.make_candidates()]
    of_kind = Candidate.objects.filter(run__kind=configuration.kind, scored__gt=0).order_by("-pk")
    bins, basis = history(of_kind.filter(key__in=keys)), "the same candidates"
    if not bins:
        bins, basis = history(of_kind), "runs of this kind"
    jobs = configuration.limits.max_concurrent or 1
    low, high = ((percentile(bins, share) or ASSUMED_SECONDS * 1000) / 1000 for share in QUARTILES)
    told = f"From {sum(bins.values()):,} past trials of {basis}." if bins else ""
    return Computing(
        max(low, low * trials / jobs),
        max(high, high * trials / jobs),
        f"{jobs:,} at once of this run; workers with free cores make it faster up to that",
        told or f"No past trials of this kind: {ASSUMED_SECONDS:g} s a trial is assumed.",
    )


def history(candidates: QuerySet[Candidate]) -> dict[str, int]:
    bins: dict[str, int] = {}
    for latencies in candidates.values_list("latency_bins", flat=True)[:NEWEST_CANDIDATES]:
        merge_bins(bins, latencies)
    return bins
