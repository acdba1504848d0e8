"""What a benchmark was asked to measure; travels as JSON to the process that measures."""

from dataclasses import asdict, dataclass
from typing import Any, Self

from workers.engine.spec.checks import MAX_TRIALS

SEQUENTIAL_SECONDS = 5.0  # one call at a time is slow: as many trials as fit into this
FEWEST_SEQUENTIAL = 10
ASSUMED_LATENCY_MS = 1000.0  # of a real endpoint, before the first call
DEFAULT_TRIALS = 1000
MOST_CONCURRENT = 5000  # what a configuration may ask for


class PlanError(Exception):
    """A benchmark that cannot be run as asked; the message says what is allowed."""


@dataclass(frozen=True)
class RealEndpoint:
    """An endpoint of the site, with all that is needed to call it from elsewhere."""

    name: str
    kind: str
    base_url: str
    more_urls: list[str]
    private_addresses: list[str]
    model: str
    key: str
    max_concurrent: int
    requests_per_minute: int | None
    tokens_per_minute: int | None
    adaptive: bool
    price_in: float  # dollars per million tokens
    price_out: float
    max_dollars: float


@dataclass(frozen=True)
class Plan:
    trials: int = DEFAULT_TRIALS
    latency_ms: float = 200.0
    jitter: float = 0.0
    concurrency: tuple[int, ...] = (1, 5, 20, 100)
    workers: int = 2
    repeats: int = 3
    seed: int = 0
    endpoint: RealEndpoint | None = None  # None: the simulated provider

    def __post_init__(self) -> None:
        bounds: dict[str, tuple[float, float, float]] = {
            "--trials": (self.trials, 1, MAX_TRIALS),
            "--latency-ms": (self.latency_ms, 1, 600_000),
            "--jitter": (self.jitter, 0, 1),
            "--workers": (self.workers, 1, 64),
            "--repeats": (self.repeats, 1, 100),
        }
        for option, (value, least, most) in bounds.items():
            if not least <= value <= most:
                raise PlanError(f"{option} is {value:g}. Give a number from {least:g} to {most:g}.")
        if not self.concurrency or not all(1 <= c <= MOST_CONCURRENT for c in self.concurrency):
            raise PlanError(
                f"--concurrency needs numbers from 1 to {MOST_CONCURRENT}, as in 1,5,20,100."
            )

    @property
    def levels(self) -> list[int]:
        """Sequential is always measured: everything else is compared with it."""
        return sorted({1, *self.concurrency})

    @property
    def most_concurrent(self) -> int:
        return max(self.levels)

    def trials_at(self, concurrency: int) -> int:
        if concurrency > 1:
            return self.trials
        latency_ms = ASSUMED_LATENCY_MS if self.endpoint else self.latency_ms
        fitting = int(SEQUENTIAL_SECONDS * 1000 / latency_ms)
        return min(self.trials, max(FEWEST_SEQUENTIAL, fitting))

    @property
    def curve_calls(self) -> int:
        """Calls that sequential against parallel takes, in all repeats."""
        return self.repeats * sum(self.trials_at(level) for level in self.levels)

    def as_document(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        endpoint = document["endpoint"]
        return cls(
            **{
                **document,
                "concurrency": tuple(document["concurrency"]),
                "endpoint": RealEndpoint(**endpoint) if endpoint else None,
            }
        )
