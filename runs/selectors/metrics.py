"""The numbers of the whole installation for a monitoring system, read when it asks."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from django.db.models import Count, Sum

from runs.models import CachedReply, Chunk, ChunkState, Endpoint, Run, RunState
from runs.selectors.endpoints.permit_state import PermitState, read_permits
from runs.selectors.worker_beats import count_workers

Labels = Mapping[str, str]


class Metric(NamedTuple):
    name: str
    help: str
    samples: list[tuple[Labels, float]]
    is_total: bool = False  # only grows, but for runs that are removed


def read_metrics() -> list[Metric]:
    workers = count_workers()
    return [
        Metric("evalsite_redis_up", "Whether Redis answers.", [({}, workers is not None)]),
        Metric("evalsite_workers", "Workers alive.", [({}, workers or 0)]),
        *run_metrics(),
        Metric("evalsite_chunks", "Chunks of runs that go on.", chunk_samples()),
        Metric("evalsite_cached_replies", "Answers kept.", [({}, CachedReply.objects.count())]),
        *endpoint_metrics(),
    ]


def run_metrics() -> list[Metric]:
    runs = Run.objects.order_by()
    states = dict(runs.values_list("state").annotate(n=Count("pk")))
    names = ("scored", "failed", "cached", "calls_sent", "calls_retried", "calls_throttled")
    more = ("calls_joined", "tokens_in", "tokens_out", "cost", "cost_saved")
    found = runs.aggregate(**{f"sum_{name}": Sum(name) for name in (*names, *more)})
    sums = {name.removeprefix("sum_"): float(total or 0) for name, total in found.items()}
    return [
        Metric(
            "evalsite_runs",
            "Runs by state.",
            [({"state": state}, states.get(state, 0)) for state in RunState.values],
        ),
        total("evalsite_trials", "Trials with a result.", "outcome", sums, ("scored", "failed")),
        total("evalsite_answers_cached", "Answers the cache gave.", "", sums, ("cached",)),
        total("evalsite_calls", "Calls to providers.", "what", sums, CALLS),
        total("evalsite_tokens", "Tokens.", "direction", sums, ("tokens_in", "tokens_out")),
        total("evalsite_cost_dollars", "Dollars paid.", "", sums, ("cost",)),
        total("evalsite_cost_saved_dollars", "Dollars saved.", "", sums, ("cost_saved",)),
    ]


CALLS = ("calls_sent", "calls_retried", "calls_throttled", "calls_joined")


def total(
    name: str, help: str, label: str, sums: Mapping[str, float], columns: tuple[str, ...]
) -> Metric:
    samples: list[tuple[Labels, float]] = [
        ({label: column.rpartition("_")[2]} if label else {}, sums[column]) for column in columns
    ]
    return Metric(name, help, samples, is_total=True)


def chunk_samples() -> list[tuple[Labels, float]]:
    going = Chunk.objects.filter(run__state__in=RunState.going(), state__in=ChunkState.at_work())
    counts = dict(going.order_by().values_list("state").annotate(n=Count("pk")))
    return [({"state": state}, counts.get(state, 0)) for state in ChunkState.at_work()]


def endpoint_metrics() -> list[Metric]:
    """Nothing is said while Redis is away: it would look like nothing happening."""
    rows = Endpoint.objects.order_by("name").values_list("pk", "name", "model_names")
    labels: dict[tuple[int, str], Labels] = {
        (pk, model): {"endpoint": name, "model": model}
        for pk, name, models in rows
        for model in models
    }
    states = read_permits(labels) or {}
    return [
        Metric(name, help, [(labels[place], read(state)) for place, state in states.items()])
        for name, (help, read) in OF_MODELS.items()
    ]


OF_MODELS: dict[str, tuple[str, Callable[[PermitState], float]]] = {
    "evalsite_calls_in_flight": ("Calls in flight.", lambda state: state.held.total()),
    "evalsite_breaker_open": ("Open breakers.", lambda state: state.is_broken),
    "evalsite_calls_last_minute": ("Calls started.", lambda state: state.calls),
    "evalsite_throttled_last_minute": ("Calls refused with 429.", lambda state: state.throttled),
    "evalsite_failed_last_minute": ("Calls that failed.", lambda state: state.failed),
}
