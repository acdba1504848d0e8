"""The parts of a benchmark, each measured once per repeat, so that all see the same drift."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from runs.benchmarking.measuring import Bench, Measurement, MeasuringFailed, measure
from runs.benchmarking.plan import Plan
from runs.benchmarking.points import compared_point, curve_point
from runs.benchmarking.spending import Budget
from runs.benchmarking.workload import (
    MAX_TOKENS,
    SIMULATED_ENDPOINT,
    SIMULATED_MODEL,
    UNEVEN_CASES,
    UNEVEN_JITTER,
    UNEVEN_MODELS,
    even_work,
    questions,
    uneven_work,
)
from runs.models import Candidate, Dataset, Endpoint, EndpointKind
from runs.services.datasets.storing import store_rows
from runs.services.endpoints import save_endpoint

ENOUGH_SLOTS = 5000  # of the simulated endpoint: the run's own limit is what is measured
CURVE_SERIES, UNEVEN_SERIES, WARM_UP_SERIES, FIRST_CACHE_SERIES = range(4)
WARM_UP_TRIALS = 40
TWO_LEVEL, WORK_CONSERVING = "two_level", "work_conserving"
SCHEDULES = (TWO_LEVEL, WORK_CONSERVING)
ATTEMPTS_SIMULATED, ATTEMPTS_PAID = 4, 1  # a failed call that cost money is not sent again

Say = Callable[[str], None]


@dataclass(frozen=True)
class Setup:
    """What all parts use."""

    plan: Plan
    bench: Bench
    model: dict[str, Any]
    say: Say  # a line for a person, when something was measured


def set_up_endpoint(plan: Plan, owner: User) -> dict[str, Any]:
    """The endpoint that is called, stored in the benchmark's own database; its model choice."""
    paid = plan.endpoint
    if paid is None:
        endpoint = Endpoint(
            name=SIMULATED_ENDPOINT,
            kind=EndpointKind.SIMULATED,
            model_names=list(UNEVEN_MODELS),
            max_concurrent=ENOUGH_SLOTS,
            adaptive=False,
        )
        save_endpoint(owner, endpoint)
        return {"endpoint": endpoint.name, "model": SIMULATED_MODEL}
    endpoint = Endpoint(
        name=paid.name,
        kind=paid.kind,
        base_url=paid.base_url,
        more_urls=paid.more_urls,
        private_addresses=paid.private_addresses,
        model_names=[paid.model],
        max_concurrent=paid.max_concurrent,
        requests_per_minute=paid.requests_per_minute,
        tokens_per_minute=paid.tokens_per_minute,
        adaptive=paid.adaptive,
        prices={paid.model: {"input": paid.price_in, "output": paid.price_out}},
    )
    save_endpoint(owner, endpoint, paid.key)
    return {"endpoint": paid.name, "model": paid.model, "parameters": {"max_tokens": MAX_TOKENS}}


class Curve:
    """Sequential against parallel, over the levels of concurrency."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._measured: dict[int, list[Measurement]] = defaultdict(list)

    def measure(self, repeat: int, budget: Budget | None) -> None:
        plan = self._setup.plan
        for level in plan.levels:
            n = plan.trials_at(level)
            if budget and not budget.allows(n):
                raise MeasuringFailed(
                    f"The next {n:,} calls could cost more than is left: ${budget.spent:.4f} of"
                    " the allowed dollars are spent."
                )
            measured = self.measure_level(level, n, repeat)
            self._measured[level].append(measured)
            if budget:
                budget.add(measured)

    def measure_level(self, level: int, n: int, repeat: int) -> Measurement:
        setup, plan = self._setup, self._setup.plan
        document = even_work(
            dataset_of(setup, n, CURVE_SERIES),
            setup.model,
            concurrency=level,
            cache="off",
            attempts=ATTEMPTS_PAID if plan.endpoint else ATTEMPTS_SIMULATED,
        )
        label = "sequential" if level == 1 else f"{level} in flight"
        return timed(setup, repeat, label, document, n)

    def at(self, level: int) -> list[Measurement]:
        return self._measured[level]

    def points(self) -> list[dict[str, Any]]:
        plan = self._setup.plan
        slots = plan.endpoint.max_concurrent if plan.endpoint else ENOUGH_SLOTS
        rpm = plan.endpoint.requests_per_minute if plan.endpoint else None
        sequential = self._measured[1]
        whole = min(len(self._measured[level]) for level in plan.levels)
        return [
            curve_point(
                self._measured[level][:whole],
                sequential[:whole],
                slots=slots,
                requests_per_minute=rpm,
            )
            for level in plan.levels
            if whole
        ]


def warm_up(setup: Setup) -> None:
    """A small run that is not counted: connections are opened, code is loaded."""
    document = even_work(
        dataset_of(setup, WARM_UP_TRIALS, WARM_UP_SERIES),
        setup.model,
        concurrency=WARM_UP_TRIALS,
        cache="off",
        attempts=ATTEMPTS_SIMULATED,
    )
    measure(setup.bench, "warm-up", document, latency_ms=None, expected_seconds=1.0)


class CacheParts:
    """The same trials with an empty cache, then again."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._cold: list[Measurement] = []
        self._warm: list[Measurement] = []

    def measure(self, repeat: int) -> None:
        setup, plan = self._setup, self._setup.plan
        # Questions that no repeat before has asked: a cold cache without emptying one.
        dataset = dataset_of(setup, plan.trials, FIRST_CACHE_SERIES + repeat)
        document = even_work(
            dataset,
            setup.model,
            concurrency=plan.most_concurrent,
            cache="use",
            attempts=ATTEMPTS_SIMULATED,
        )
        self._cold.append(timed(setup, repeat, "cold cache", document, plan.trials))
        self._warm.append(timed(setup, repeat, "warm cache", document, plan.trials))

    def points(self, off: list[Measurement]) -> list[dict[str, Any]]:
        """`off`: the level of the curve with as many calls in flight, of the same repeats."""
        named = {"cache off": off, "cold cache": self._cold, "warm cache": self._warm}
        return [compared_point(label, found, self._cold) for label, found in named.items()]


class Schedules:
    """The documented split of slots against lending them, on candidates of uneven speed."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._measured: dict[str, list[Measurement]] = defaultdict(list)

    def measure(self, repeat: int) -> None:
        setup, simulator = self._setup, self._setup.bench.simulator
        if simulator is None:
            raise MeasuringFailed("Schedules are compared on the simulated provider only.")
        simulator.change(jitter=UNEVEN_JITTER, model_latency=UNEVEN_MODELS)
        n = UNEVEN_CASES * len(UNEVEN_MODELS) * 3
        for schedule in SCHEDULES:
            document = uneven_work(dataset_of(setup, UNEVEN_CASES, UNEVEN_SERIES), schedule)
            measured = timed(setup, repeat, schedule.replace("_", "-"), document, n)
            self._measured[schedule].append(measured)
        simulator.change(jitter=setup.plan.jitter, model_latency=None)

    def points(self) -> list[dict[str, Any]]:
        base = self._measured[TWO_LEVEL]
        return [
            compared_point(schedule.replace("_", "-"), self._measured[schedule], base)
            for schedule in SCHEDULES
        ]

    def have_same_results(self) -> bool:
        """Every candidate has the same score under both, in every repeat."""
        pairs = zip(self._measured[TWO_LEVEL], self._measured[WORK_CONSERVING], strict=True)
        return all(table_of(one.run_id) == table_of(other.run_id) for one, other in pairs)


def timed(setup: Setup, repeat: int, label: str, document: dict[str, Any], n: int) -> Measurement:
    plan = setup.plan
    latency_ms = latency_of(document, plan)
    slots = document["limits"]["max_concurrent"]
    measured = measure(
        setup.bench,
        label,
        document,
        latency_ms=latency_ms,
        expected_seconds=n * (latency_ms or 1000.0) / 1000 / slots,
    )
    setup.say(
        f"repeat {repeat + 1} of {plan.repeats}: {label}, {measured.n:,} trials in"
        f" {measured.wall_seconds:.2f} s, {measured.trials_per_second:,.0f}/s"
    )
    return measured


def latency_of(document: dict[str, Any], plan: Plan) -> float | None:
    """The mean that the simulated provider was told; None for a real one."""
    if plan.endpoint:
        return None
    if document["limits"].get("schedule") is None:
        return plan.latency_ms
    return plan.latency_ms * sum(UNEVEN_MODELS.values()) / len(UNEVEN_MODELS)


def dataset_of(setup: Setup, count: int, series: int) -> str:
    name = f"{count} sums, series {series}"
    if not Dataset.objects.filter(name=name).exists():
        store_rows(setup.bench.owner, name, questions(count, series))
    return name


def table_of(run_id: int) -> list[tuple[str, float]]:
    rows = Candidate.objects.filter(run_id=run_id).order_by("position")
    return list(rows.values_list("name", "value_sum"))
