"""How much of each endpoint's limits is in use now, and by which runs: the endpoints pages."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from runs import formatting
from runs.models import Endpoint
from runs.selectors.endpoints.called import LiveRun, live_runs
from runs.selectors.endpoints.permit_state import PermitState, read_permits
from runs.selectors.estimates.past_calls import ModelHistory, history_of
from workers.engine.batch_sizes import WHAT_TO_DO

IDLE_MODELS_SHOWN = 4  # of one endpoint, on the page with all of them


class Meter(NamedTuple):
    """A use against its limit; without one there is nothing to fill."""

    used: float
    limit: int | None

    @property
    def percent(self) -> float:
        return min(100.0, 100 * self.used / self.limit) if self.limit else 0.0

    @property
    def is_full(self) -> bool:
        return bool(self.limit) and self.used >= 0.95 * (self.limit or 0)

    @property
    def text(self) -> str:
        used = formatting.count(round(self.used))
        return f"{used} of {formatting.count(self.limit)}" if self.limit else f"{used}, no limit"


class Condition(NamedTuple):
    """How a model is doing, in a word with its icon, and in a sentence where one helps."""

    name: str
    icon: str
    text: str
    detail: str = ""


class RunShare(NamedTuple):
    run_id: int | None  # None: of runs that this person may not see
    name: str
    in_flight: int


@dataclass(frozen=True)
class ModelUse:
    endpoint: Endpoint
    model: str
    state: PermitState
    history: ModelHistory
    runs: list[RunShare]

    @property
    def in_flight(self) -> int:
        return self.state.held.total()

    @property
    def limit_now(self) -> int:
        """What the provider seems to bear, never above what people allow."""
        most = self.endpoint.max_concurrent
        if not self.endpoint.adaptive or self.state.limit is None:
            return most
        return min(self.state.limit, most)

    @property
    def is_active(self) -> bool:
        state = self.state
        return bool(
            self.in_flight or self.runs or state.calls or state.is_broken or state.gate_seconds
        )

    @property
    def in_flight_meter(self) -> Meter:
        return Meter(self.in_flight, self.endpoint.max_concurrent)

    @property
    def limit_mark(self) -> float:
        """Where on that meter the adaptive limit is; 0 where it is the whole of it."""
        most = self.endpoint.max_concurrent
        return 100 * self.limit_now / most if self.limit_now < most else 0.0

    @property
    def requests_meter(self) -> Meter:
        given, told = self.endpoint.requests_per_minute, self.state.told_requests
        return Meter(self.state.calls, stricter(given, told))

    @property
    def tokens_meter(self) -> Meter:
        given, told = self.endpoint.tokens_per_minute, self.state.told_tokens
        return Meter(self.state.tokens, stricter(given, told))

    @property
    def told(self) -> str:
        """Limits that the provider itself named."""
        parts = []
        if self.state.told_requests:
            parts.append(f"{self.state.told_requests:,} requests")
        if self.state.told_tokens:
            parts.append(f"{self.state.told_tokens:,} tokens")
        return f"The provider allows {' and '.join(parts)} a minute." if parts else ""

    @property
    def latency_p50(self) -> float | None:
        return self.history.latency_ms(0.5)

    @property
    def latency_p95(self) -> float | None:
        return self.history.latency_ms(0.95)

    @property
    def condition(self) -> Condition:
        return condition_of(self)


class EndpointUse(NamedTuple):
    endpoint: Endpoint
    models: list[ModelUse]
    idle: int = 0  # models that are not listed


class Board(NamedTuple):
    """What an endpoints page shows of the use."""

    uses: list[EndpointUse]
    is_known: bool  # False: Redis does not answer

    @property
    def has_tokens(self) -> bool:
        """Tokens are counted only where they are limited."""
        return any(model.tokens_meter.limit for use in self.uses for model in use.models)


def stricter(given: int | None, told: int) -> int | None:
    return min(filter(None, (given, told)), default=None)


def condition_of(use: ModelUse) -> Condition:
    state = use.state
    if use.endpoint.is_paused:
        detail = "No new calls; those in flight end." if use.in_flight else "No new calls."
        return Condition("paused", "pause", "Paused", detail)
    if state.is_broken and state.broken_seconds:
        left = formatting.duration(state.broken_seconds)
        return Condition("error", "ban", "Failing", f"No calls; the next try is in {left}.")
    if state.is_broken:
        return Condition("warning", "alert", "Trying again", "One call at a time.")
    if state.gate_seconds:
        left = formatting.duration(state.gate_seconds)
        return Condition("warning", "clock", "Told to wait", f"429: no calls for {left}.")
    if use.limit_now < use.endpoint.max_concurrent and state.throttled >= 1:
        return Condition("warning", "down", "Slowed down", "The provider answers 429.")
    if state.bears:
        detail = f"It works on no more than about {state.bears:,} at once. {WHAT_TO_DO}"
        return Condition("warning", "clock", "Calls wait at the server", detail)
    if use.in_flight:
        return Condition("running", "activity", "Working")
    return Condition("idle", "clock", "Idle")


def use_of_all(endpoints: Iterable[Endpoint], visible: set[int]) -> Board:
    """For the page with all endpoints: what is in use, and a few idle models."""
    board = measure(list(endpoints), visible)
    return board._replace(uses=[fold(use) for use in board.uses])


def use_of(endpoint: Endpoint, visible: set[int]) -> Board:
    """`visible` are the runs the person may see; others are counted, not named."""
    return measure([endpoint], visible)


def fold(use: EndpointUse) -> EndpointUse:
    active = [model for model in use.models if model.is_active]
    idle = [model for model in use.models if not model.is_active]
    shown = max(0, IDLE_MODELS_SHOWN - len(active))
    return EndpointUse(use.endpoint, active + idle[:shown], idle=len(idle[shown:]))


def measure(endpoints: list[Endpoint], visible: set[int]) -> Board:
    runs = live_runs()
    places = {endpoint.pk: models_of(endpoint, runs) for endpoint in endpoints}
    states = read_permits((pk, name) for pk, names in places.items() for name in names)
    known = states or {}
    uses = [
        EndpointUse(
            endpoint,
            [
                model_use(endpoint, model, known.get((endpoint.pk, model)), runs, visible)
                for model in places[endpoint.pk]
            ],
        )
        for endpoint in endpoints
    ]
    return Board(uses, is_known=states is not None)


def models_of(endpoint: Endpoint, runs: list[LiveRun]) -> list[str]:
    """Those it lists, and those that are called without being listed."""
    called = (
        choice.model for run in runs for choice in run.models if choice.endpoint == endpoint.name
    )
    return list(dict.fromkeys([*endpoint.model_names, *called]))


def model_use(
    endpoint: Endpoint,
    model: str,
    state: PermitState | None,
    runs: list[LiveRun],
    visible: set[int],
) -> ModelUse:
    known = state or PermitState()
    users = [run for run in runs if run.uses(endpoint.name, model)]
    shares = [RunShare(run.pk, run.name, known.held[run.pk]) for run in users if run.pk in visible]
    others = [run for run in users if run.pk not in visible]
    if others:
        held = sum(known.held[run.pk] for run in others)
        name = f"{len(others)} of other people"
        shares.append(RunShare(None, name, held))
    shares.sort(key=lambda share: -share.in_flight)
    return ModelUse(endpoint, model, known, history_of(endpoint.name, model), shares)
