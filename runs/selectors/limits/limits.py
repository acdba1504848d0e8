"""The limits that hold for a run now: those of its launch, with what was changed since."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from runs.models import Endpoint, Run, RunState
from runs.selectors.case_sources import positions_of
from runs.selectors.endpoints.called import endpoints_of
from workers.engine.kinds import KINDS, read_configuration
from workers.engine.schedule import slots_allowed
from workers.engine.spec.configuration import Configuration
from workers.engine.throttling.retuning import retune

WAITING = "Waiting: "  # how the reasons begin that are taken back when an endpoint is resumed


def configuration_now(run: Run) -> Configuration:
    return retune(read_configuration(run.document), run.limits_now, run.priority)


def trials_each(run: Run) -> int:
    """How many trials a candidate has if it is not given up, however many are born meanwhile."""
    configuration = read_configuration(run.document)
    return configuration.count_ranked(len(positions_of(run))) * configuration.repeats


def decides(run: Run) -> bool:
    """Whether what it asks for depends on scores, so that none can be taken back under way."""
    return KINDS[run.kind].learns or run.document.get("held_out") is not None


def limits_text(configuration: Configuration) -> str:
    limits, parts = configuration.limits, []
    if limits.max_concurrent:
        calls = "call" if limits.max_concurrent == 1 else "calls"
        parts.append(f"{limits.max_concurrent:,} {calls} at once")
    if limits.requests_per_minute:
        parts.append(f"{limits.requests_per_minute:,} requests a minute")
    if limits.tokens_per_minute:
        parts.append(f"{limits.tokens_per_minute:,} tokens a minute")
    own = ", ".join(parts) or "As fast as the endpoint allows"
    return f"{own}, {configuration.priority} priority"


def slots_at_launch(run: Run, configuration: Configuration) -> int:
    """Calls at once by the run's limit now, and by those of its endpoints when it was launched."""
    endpoints = run.snapshot_of.get("endpoints", {})
    at_once = {name: facts["max_concurrent"] for name, facts in endpoints.items()}
    return slots_allowed(configuration, at_once)


def slots_now(configuration: Configuration, endpoints: Mapping[str, Endpoint]) -> int:
    """Calls at once. A run without a limit of its own holds no more than its models allow
    together, so that its tasks in memory are bounded, too."""
    at_once = {name: endpoint.max_concurrent for name, endpoint in endpoints.items()}
    return slots_allowed(configuration, at_once)


def read_slots(configuration: Configuration) -> int:
    """The same, with the endpoints as they are stored now."""
    names = {model.endpoint for model in configuration.every_model}
    stored = Endpoint.objects.filter(name__in=names)
    return slots_allowed(configuration, dict(stored.values_list("name", "max_concurrent")))


class Current(NamedTuple):
    """What decides how fast a run may go, as stored now."""

    configuration: Configuration
    endpoints: dict[str, Endpoint]
    is_held: bool = False  # the run is pausing or paused, or has ended
    drops_calls: bool = False  # also of calls in flight nothing is kept
    calls_used: int = 0
    dollars_used: float = 0.0
    owner_id: int | None = None
    owner_slots: int | None = None  # calls in flight of all runs of the owner; None: no limit

    @property
    def is_waiting(self) -> bool:
        return self.is_held or any(endpoint.is_paused for endpoint in self.endpoints.values())


def read_current(run_id: int, launched: Configuration) -> Current:
    """For a run whose document is read already. Raises ConfigurationError when an endpoint of
    it was removed."""
    fields = ["limits_now", "priority", "state", "drops_calls", "calls_sent", "cost"]
    fields += ["owner_id", "quota"]
    run = Run.objects.filter(pk=run_id).only(*fields).first() or Run(priority=launched.priority)
    is_held = run.state not in RunState.going()
    return Current(
        retune(launched, run.limits_now, run.priority),
        endpoints_of(launched),
        is_held=is_held,
        drops_calls=run.is_finished or (is_held and run.drops_calls),
        calls_used=run.calls_sent,
        dollars_used=run.cost,
        owner_id=run.owner_id,
        owner_slots=run.quota.get("slots"),
    )


def paused_endpoints() -> set[str]:
    """The names of those that start no new calls."""
    return set(Endpoint.objects.filter(is_paused=True).values_list("name", flat=True))


def is_waiting(configuration: Configuration, paused: Collection[str]) -> bool:
    return any(model.endpoint in paused for model in configuration.every_model)


def waiting_reason(configuration: Configuration) -> str:
    """Why a run that could go on does not; empty when none of its endpoints is paused."""
    paused = paused_endpoints()
    names = sorted({model.endpoint for model in configuration.every_model} & paused)
    if not names:
        return ""
    what = f"endpoint {names[0]} is" if len(names) == 1 else f"endpoints {', '.join(names)} are"
    return f"{WAITING}{what} paused"[:300]
