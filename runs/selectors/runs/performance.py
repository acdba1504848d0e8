"""How a run that ends made its calls, in one sentence for its events."""

from django.utils import timezone

from runs import formatting
from runs.models import Run
from runs.selectors.limits.limits import read_slots
from workers.engine.errors import RateLimited
from workers.engine.records import Attempt
from workers.engine.spec.configuration import Configuration
from workers.engine.statistics.intervals import middle_of, percentile

MOST_READ = 20_000  # scores, to add up what was waited after 429s: more would hold up the run's end


def performance_text(run: Run, configuration: Configuration) -> str:
    """Calls, throughput, latencies, cache hits, use of the limit, time lost to throttling."""
    seconds = run.running_seconds(timezone.now())
    rate = formatting.rate(run.done / seconds if seconds else None)
    latencies = ", ".join(
        f"{name} {formatting.milliseconds(percentile(run.latency_bins, share))}"
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
    )
    hits = formatting.percent(run.cached / run.done if run.done else None)
    return (
        f"Performance: {run.calls_sent:,} calls in {formatting.duration(seconds)}; throughput "
        f"{rate}; latency {latencies}; {run.cached:,} cache hits ({hits}); "
        f"{use_text(run, configuration, seconds)}; {throttling_text(run)}."
    )


def use_text(run: Run, configuration: Configuration, seconds: float) -> str:
    """By how long the calls took in all: samples, one a second, miss a short run's calls."""
    slots = read_slots(configuration)
    busy_ms = sum(middle_of(name) * calls for name, calls in run.latency_bins.items())
    share = min(1.0, busy_ms / 1000 / (seconds * slots)) if seconds else None
    return f"{formatting.percent(share)} of {slots:,} calls at once used on average"


def throttling_text(run: Run) -> str:
    if not run.calls_throttled:
        return "no call was throttled"
    throttled = f"{formatting.counted(run.calls_throttled, 'call')} throttled (429)"
    if run.done > MOST_READ:
        return throttled
    lost = sum(map(lost_ms, run.scores.values_list("attempts", flat=True).iterator()))
    return f"{throttled}, which cost {formatting.duration(lost / 1000)} of waiting in all"


def lost_ms(attempts: list[list[object]]) -> float:
    """The refused calls of a trial, and what was waited after each before the next one."""
    lost, was_throttled = 0.0, False
    for attempt in (Attempt(*row) for row in attempts):  # type: ignore[arg-type]
        is_throttled = attempt.outcome == RateLimited.name
        lost += attempt.took_ms if is_throttled else 0.0
        lost += attempt.waited_ms if was_throttled else 0.0
        was_throttled = is_throttled
    return lost
