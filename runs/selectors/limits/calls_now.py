"""The calls of runs that go on, as the workers share them in Redis: held, waiting, allowed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runs.models import Chunk, ChunkState, Endpoint, Run, RunState
from runs.selectors.endpoints.load import stricter
from runs.selectors.endpoints.permit_state import PermitState, read_keys
from runs.selectors.limits.limit_changes import SlotsNow
from runs.selectors.limits.limits import configuration_now
from workers.engine.spec.configuration import Configuration


@dataclass(frozen=True)
class ModelNow:
    """One model that a run calls, with what all runs do there."""

    endpoint: Endpoint
    model: str
    state: PermitState
    adapts: bool  # the run keeps to what the provider seems to bear

    @property
    def key(self) -> str:
        return key_of(self.endpoint, self.model)

    @property
    def label(self) -> str:
        return f"{self.endpoint.name}/{self.model}"

    @property
    def slots(self) -> int:
        """What the provider seems to bear, never above what people allow."""
        most = self.endpoint.max_concurrent
        if self.endpoint.is_paused:
            return 0
        if not self.endpoint.adaptive or not self.adapts:
            return most
        known = (self.state.limit, self.state.ramp)
        return min([most, *(limit for limit in known if limit is not None)])

    @property
    def requests_per_minute(self) -> int | None:
        """Calls that may start, by the limits on requests and on tokens."""
        told = stricter(self.endpoint.requests_per_minute, self.state.told_requests)
        tokens = stricter(self.endpoint.tokens_per_minute, self.state.told_tokens)
        return stricter(told, calls_of(tokens, self.state))


@dataclass(frozen=True)
class Now:
    """A run that goes on, as it stands."""

    run: Run
    configuration: Configuration
    models: Sequence[ModelNow]
    own: PermitState
    of_owner: PermitState | None  # all their runs together; None: nobody limits them
    has_pending: bool  # chunks that no worker has taken

    @property
    def held(self) -> int:
        return sum(model.state.held[self.run.pk] for model in self.models)

    @property
    def owner_slots(self) -> int | None:
        """Calls in flight of all runs of its owner, as it was when the run began."""
        slots: int | None = self.run.quota.get("slots")
        return slots


def key_of(endpoint: Endpoint, model: str) -> str:
    """As the workers name the quota of a model."""
    return f"endpoint:{endpoint.pk}/{model}"


def read_now(runs: Iterable[Run]) -> dict[int, Now]:
    """Of the runs that go on, in two queries and one look at Redis. Nothing while it is away."""
    going = [run for run in runs if run.state in RunState.going() and run.started]
    if not going:
        return {}
    load_documents(going)
    configurations = {run.pk: configuration_now(run) for run in going}
    endpoints = endpoints_by_name(configurations.values())
    places = {
        run_id: places_of(configuration, endpoints)
        for run_id, configuration in configurations.items()
    }
    keys = {key for found in places.values() for key in found}
    owners = {f"person:{run.owner_id}" for run in going if "slots" in run.quota}
    states = read_keys([*keys, *owners, *(f"run:{run.pk}" for run in going)])
    if states is None:
        return {}
    pending = Chunk.objects.filter(run__in=going, state=ChunkState.PENDING).order_by()
    waiting = set(pending.values_list("run_id", flat=True).distinct())
    return {
        run.pk: Now(
            run,
            configurations[run.pk],
            [
                ModelNow(*place, states[key], configurations[run.pk].limits.adaptive)
                for key, place in places[run.pk].items()
            ],
            states[f"run:{run.pk}"],
            states.get(f"person:{run.owner_id}"),
            run.pk in waiting,
        )
        for run in going
    }


def load_documents(runs: Sequence[Run]) -> None:
    """Lists leave them out, since they may be long: one query for those that are needed."""
    missing = [run for run in runs if "document" in run.get_deferred_fields()]
    if missing:
        wanted = Run.objects.filter(pk__in=[run.pk for run in missing])
        documents = dict(wanted.values_list("pk", "document"))
        for run in missing:
            run.document = documents.get(run.pk, {})


def endpoints_by_name(configurations: Iterable[Configuration]) -> dict[str, Endpoint]:
    names = {model.endpoint for one in configurations for model in one.every_model}
    return {endpoint.name: endpoint for endpoint in Endpoint.objects.filter(name__in=names)}


def places_of(
    configuration: Configuration, endpoints: Mapping[str, Endpoint]
) -> dict[str, tuple[Endpoint, str]]:
    """By the key of its quota, each model once."""
    return {
        key_of(endpoints[model.endpoint], model.model): (endpoints[model.endpoint], model.model)
        for model in configuration.every_model
        if model.endpoint in endpoints
    }


def slots_over_time(
    run: Run, configuration: Configuration, now: Now | None, second: int
) -> SlotsNow:
    """What a chart draws as the limit of calls at once: of a run that is over, or while Redis is
    away, by what was allowed at its launch."""
    own = configuration.limits.max_concurrent
    if now is not None:
        return SlotsNow(own, {model.key: model.slots for model in now.models}, second)
    launched = run.snapshot_of.get("endpoints", {})
    places = places_of(configuration, endpoints_by_name([configuration]))
    models = {
        key: launched.get(endpoint.name, {}).get("max_concurrent", endpoint.max_concurrent)
        for key, (endpoint, _) in places.items()
    }
    return SlotsNow(own, models)


def trials_per_second_allowed(
    run: Run, configuration: Configuration, now: Now | None
) -> float | None:
    """By limits on requests and tokens a minute. None where there is no such limit."""
    limits = configuration.limits
    if now is None:
        launched = run.snapshot_of.get("endpoints", {})
        names = {(model.endpoint, model.model): model.endpoint for model in configuration.called}
        of_models = [launched.get(name, {}).get("requests_per_minute") for name in names.values()]
        own = limits.requests_per_minute
    else:
        of_models = [model.requests_per_minute for model in now.models]
        tokens = limits.tokens_per_minute
        own = stricter(limits.requests_per_minute, calls_of(tokens, now.own))
    together = sum(filter(None, of_models)) if of_models and all(of_models) else None
    per_minute = min(filter(None, (own, together)), default=None)
    return per_minute and round(per_minute / 60 / configuration.calls_per_trial(), 4)


def calls_of(tokens_per_minute: int | None, state: PermitState) -> int:
    """So many calls a minute, by what one used in the last minute; 0 if that is unknown."""
    if not tokens_per_minute or not state.calls or not state.tokens:
        return 0
    return max(1, round(tokens_per_minute * state.calls / state.tokens))
