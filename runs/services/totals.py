"""Keeps the running totals of a run, its candidates and its seconds in step with its scores."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from runs.models import Candidate, Run, RunSample, Score
from workers.engine import records
from workers.engine.errors import RateLimited
from workers.engine.stats import add_to_bins

SHARED_TOTALS = [
    "done",
    "failed",
    "cached",
    "scored",
    "value_sum",
    "value_square_sum",
    "tokens_in",
    "tokens_out",
    "latency_bins",
]
RUN_TOTALS = [
    "calls_sent",
    "calls_retried",
    "calls_throttled",
    "calls_joined",
    "cost",
    "cost_saved",
    "unpriced",
    "peak_in_flight",
    "version",
]


class Totals(Protocol):
    """What a run and a candidate count alike."""

    done: int
    failed: int
    cached: int
    scored: int
    value_sum: float
    value_square_sum: float
    tokens_in: int
    tokens_out: int
    latency_bins: dict[str, int]


def add_score(totals: Totals, score: Score) -> None:
    totals.done += 1
    totals.tokens_in += score.tokens_in or 0
    totals.tokens_out += score.tokens_out or 0
    if score.value is None:
        totals.failed += 1
        return
    totals.scored += 1
    totals.cached += score.cached
    totals.value_sum += score.value
    totals.value_square_sum += score.value**2
    if score.latency_ms is not None:
        add_to_bins(totals.latency_bins, score.latency_ms)


def add_costs(run: Run, scores: Sequence[records.Score]) -> None:
    """Money, which the rows do not tell in full. `add_to_run` saves it."""
    for score in scores:
        run.cost += score.cost or 0.0
        run.cost_saved += score.cost_saved
        run.unpriced += score.unpriced


def add_to_run(run: Run, rows: Sequence[Score], in_flight: int) -> None:
    for row in rows:
        add_score(run, row)
        calls = [attempt for attempt in row.attempts if attempt[0] == "call"]
        run.calls_sent += len(calls)
        run.calls_retried += max(0, len(calls) - 1)
        run.calls_throttled += sum(attempt[1] == RateLimited.name for attempt in calls)
        run.calls_joined += sum(attempt[0] == records.JOINED for attempt in row.attempts)
    run.peak_in_flight = max(run.peak_in_flight, in_flight)
    run.version += 1
    run.save(update_fields=[*SHARED_TOTALS, *RUN_TOTALS])


def add_to_candidates(run: Run, rows: Sequence[Score]) -> None:
    by_candidate: dict[int, list[Score]] = defaultdict(list)
    for row in rows:
        by_candidate[row.candidate_id].append(row)
    for candidate in Candidate.objects.filter(pk__in=list(by_candidate)):
        for row in by_candidate[candidate.pk]:
            add_score(candidate, row)
        candidate.save(update_fields=SHARED_TOTALS)


def add_to_sample(run: Run, rows: Sequence[Score], in_flight: int) -> None:
    """Add to the second we are in. The seconds are counted by the database's clock."""
    if run.started is None or run.is_finished:
        return
    elapsed = run.clock - run.started  # type: ignore[attr-defined]  # annotated by the caller
    sample, _ = RunSample.objects.get_or_create(
        run=run, second=max(0, int(elapsed.total_seconds()))
    )
    for row in rows:
        if row.value is None:
            sample.failed += 1
        elif row.cached:
            sample.cached += 1
        else:
            sample.fresh += 1
            if row.latency_ms is not None:
                add_to_bins(sample.latency_bins, row.latency_ms)
    sample.in_flight = max(sample.in_flight, in_flight)
    sample.save()
