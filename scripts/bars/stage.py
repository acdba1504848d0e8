"""The laboratory as one row finds it: its own endpoint, nothing left of the rows before."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import redis
from django.conf import settings

from runs.benchmarking.measuring import Bench, Measurement, measure
from runs.benchmarking.parts import ATTEMPTS_SIMULATED, ENOUGH_SLOTS, Setup
from runs.benchmarking.plan import Plan
from runs.benchmarking.workload import SIMULATED_MODEL, even_work, questions
from runs.models import Endpoint, EndpointKind
from runs.services.datasets.storing import store_rows
from runs.services.endpoints import save_endpoint
from workers.simulator.settings import Settings
from workers.simulator.testing import SimulatorClient

USUAL_TRIALS = 5000
MOST_PARTS = 10  # of a row
PERMITS_MEMORY = "permits:memory"  # as permits.lua calls it
LEDGER_PAGE = 10_000  # rows; the most that the provider gives at once


@dataclass(frozen=True)
class Stage:
    name: str  # of the row
    number: int  # of the row: makes its questions differ from those of all others
    setup: Setup
    simulator: SimulatorClient

    @property
    def plan(self) -> Plan:
        return self.setup.plan

    @property
    def bench(self) -> Bench:
        return self.setup.bench

    def scaled(self, trials: int) -> int:
        """As many trials as asked by --trials, where a row of 5,000 would have this many."""
        return max(1, round(trials * self.plan.trials / USUAL_TRIALS))

    def provider(self, **changes: Any) -> None:
        """An even, faultless, unlimited provider but for the changes."""
        usual = Settings(seed=self.plan.seed, jitter=0.0)
        self.simulator.change(**{**asdict(usual), **changes})

    def endpoint(self, **limits: Any) -> dict[str, Any]:
        """A model that nobody has called yet: what was learnt about others does not hold for it.

        Without limits it has none of its own; the run's hold.
        """
        endpoint = Endpoint(
            name=self.name.replace("_", "-"),
            kind=EndpointKind.SIMULATED,
            model_names=[SIMULATED_MODEL],
            **{"max_concurrent": ENOUGH_SLOTS, "adaptive": False, **limits},
        )
        save_endpoint(self.bench.owner, endpoint)
        return {"endpoint": endpoint.name, "model": SIMULATED_MODEL}

    def questions(self, count: int, part: int = 0) -> list[dict[str, str]]:
        """None of them was asked by another row or part."""
        return questions(count, series=MOST_PARTS * self.number + part)

    def dataset(self, trials: int, part: int = 0) -> str:
        return self.store(self.questions(trials, part), part)

    def store(self, rows: list[dict[str, str]], part: int = 0) -> str:
        return store_rows(self.bench.owner, f"{self.name} {part}", rows).name

    def work(
        self, model: dict[str, Any], dataset: str, concurrency: int, cache: str = "off"
    ) -> dict[str, Any]:
        return even_work(
            dataset, model, concurrency=concurrency, cache=cache, attempts=ATTEMPTS_SIMULATED
        )

    def measure(
        self, document: dict[str, Any], *, latency_ms: float, expected_seconds: float
    ) -> Measurement:
        """The run from its creation to its end; the ledger begins with it."""
        label = f"{self.name}, {document['limits']['max_concurrent']} in flight"
        return measure(
            self.bench, label, document, latency_ms=latency_ms, expected_seconds=expected_seconds
        )

    def ledger_rows(self) -> list[dict[str, Any]]:
        return list(pages(self.simulator))


def pages(simulator: SimulatorClient) -> Iterator[dict[str, Any]]:
    after = -1
    while found := simulator.requests(after, LEDGER_PAGE):
        yield from found
        after = found[-1]["number"]


def clear(simulator: SimulatorClient) -> None:
    """Between rows nothing is under way: no limit, lock, gate or count is worth keeping. That
    Redis was not just emptied is: after that, the permits wait for what others say they hold."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.flushall()
        client.set(PERMITS_MEMORY, 0)
    simulator.reset()
