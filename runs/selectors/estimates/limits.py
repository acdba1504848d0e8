"""Which limit a run would meet first, how fast it would be, and what would help."""

from collections.abc import Sequence
from typing import NamedTuple

from runs.kinds import kind_named
from runs.models import Endpoint
from runs.selectors.estimates.calls import ModelCalls
from workers.engine.spec.configuration import Configuration


class Limit(NamedTuple):
    calls_per_second: float
    name: str
    lever: str


def binding_limit(
    configuration: Configuration,
    endpoints: dict[str, Endpoint],
    asked: Sequence[ModelCalls],
    latency_seconds: float,
    tokens_each: float,
) -> Limit:
    """The slowest of all limits that the run falls under; `asked` are the models of candidates."""
    found = [*limits_of_run(configuration, latency_seconds, tokens_each)]
    judges = [model for _, model in configuration.judges]
    parts = 1 + len(judges)  # the calls of candidates are one of them
    every = sum(each.calls for each in asked)
    shares = [(each.model, parts * every / each.calls) for each in asked if each.calls]
    for model, share in [*shares, *((model, float(parts)) for model in judges)]:
        endpoint = endpoints[model.endpoint]
        found += limits_of_model(endpoint, model.label, latency_seconds, tokens_each, share)
    found.sort(key=lambda limit: limit.calls_per_second)
    return found[0]._replace(lever=lever_text(found, has_rounds=configuration.learns))


def limits_of_run(
    configuration: Configuration, latency_seconds: float, tokens_each: float
) -> list[Limit]:
    limits, own = configuration.limits, kind_named(configuration.kind).at_once(configuration)
    found = [Limit(own.calls / latency_seconds, own.name, own.lever)] if own else []
    if limits.max_concurrent:
        slots = limits.max_concurrent
        name = f"{slots:,} calls at once of this run"
        found.append(Limit(slots / latency_seconds, name, "Calls at once (max_concurrent)"))
    if limits.requests_per_minute:
        rate = limits.requests_per_minute
        name = f"{rate:,} requests a minute of this run"
        found.append(Limit(rate / 60, name, "Requests a minute (requests_per_minute)"))
    if limits.tokens_per_minute:
        rate = limits.tokens_per_minute
        name = f"{rate:,} tokens a minute of this run"
        lever = "Tokens a minute (tokens_per_minute)"
        found.append(Limit(rate / 60 / tokens_each, name, lever))
    return found


def limits_of_model(
    endpoint: Endpoint, label: str, latency_seconds: float, tokens_each: float, shares: float
) -> list[Limit]:
    """A model gets one in so many of the calls, so its limit counts that many times."""
    slots = endpoint.max_concurrent
    found = [
        Limit(
            shares * slots / latency_seconds,
            f"{slots:,} calls at once of {label}",
            f"Calls at once of the endpoint {endpoint.name}",
        )
    ]
    if rate := endpoint.requests_per_minute:
        found.append(
            Limit(
                shares * rate / 60,
                f"{rate:,} requests a minute of {label}",
                f"Requests a minute of the endpoint {endpoint.name}",
            )
        )
    if rate := endpoint.tokens_per_minute:
        found.append(
            Limit(
                shares * rate / 60 / tokens_each,
                f"{rate:,} tokens a minute of {label}",
                f"Tokens a minute of the endpoint {endpoint.name}",
            )
        )
    return found


def lever_text(found: list[Limit], *, has_rounds: bool) -> str:
    """What raising the first limit would bring, up to where the next one binds. Rounds wait for
    each other, whatever is allowed at once."""
    first = found[0]
    if len(found) == 1:
        return f"raising {first.lever} makes it faster"
    gain = found[1].calls_per_second / first.calls_per_second
    if gain < 1.05:
        return f"raising it alone does not help, because of {found[1].name}"
    if has_rounds:
        return f"raising {first.lever} makes its rounds faster, one after the other"
    return f"raising {first.lever} makes it up to {gain:.1f} times as fast"
