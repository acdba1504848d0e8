"""What a simulated provider can be told: one frozen record, checked when it is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from typing import Any, TypeVar

from workers.simulator.models import MODELS

Value = TypeVar("Value")
LIMIT_SCOPES = ("server", "model")
LIMIT_HEADERS = ("sent", "hidden")
NO_UPPER_BOUND = float("inf")
FACTOR_BOUNDS = {"kind": float, "least": 0, "most": NO_UPPER_BOUND}


class SettingsError(ValueError):
    """A setting that is unknown or out of bounds; the message says what is allowed."""


def setting(
    default: Value, kind: type, help_text: str, least: float = 0, most: float = NO_UPPER_BOUND
) -> Value:
    metadata = {"kind": kind, "help": help_text, "least": least, "most": most}
    declared: Value = field(default=default, metadata=metadata)
    return declared


def rate(fault: str) -> float:
    return setting(0.0, float, f"share of requests that get: {fault}", most=1)


@dataclass(frozen=True, slots=True)
class Settings:
    """How the server behaves. The fields are the command's options and the control API's names."""

    seed: int = setting(0, int, "changes every seeded choice: answers, jitter, faults")
    latency_ms: float = setting(200.0, float, "time to answer, in milliseconds, before jitter")
    jitter: float = setting(0.3, float, "latency varies by this share, up and down", most=1)
    model_latency: Mapping[str, float] | None = setting(
        None, dict, "latency factor by model, e.g. sim-large=1.5; the rest keep their own"
    )
    rpm: int | None = setting(None, int, "requests a minute; more get 429", least=1)
    tpm: int | None = setting(None, int, "tokens a minute; more get 429", least=1)
    max_in_flight: int | None = setting(None, int, "requests at once; more get 429", least=1)
    num_parallel: int | None = setting(
        None, int, "requests worked on at once; more wait for their turn, as at Ollama", least=1
    )
    gather: int | None = setting(
        None, int, "answers wait until so many requests are there at once, the first time", least=1
    )
    hold_after: int | None = setting(
        None, int, "so many requests are answered; later ones wait until settings are changed"
    )
    limit_scope: str = setting("server", str, "limits count per 'server' or per 'model'")
    limit_headers: str = setting("sent", str, "headers that tell the limits: 'sent' or 'hidden'")
    window_seconds: float = setting(
        60.0, float, "rpm and tpm hold in every window of this length", least=0.01
    )
    error_rate: float = rate("a 500, 502 or 503")
    hang_rate: float = rate("no answer, ever")
    drip_rate: float = rate("one byte at a time")
    malformed_rate: float = rate("broken JSON")
    html_rate: float = rate("an HTML error page with status 502")
    empty_rate: float = rate("an empty body")
    wrong_schema_rate: float = rate("JSON of another shape")
    huge_rate: float = rate("a body of huge_bytes")
    gzip_bomb_rate: float = rate("a small gzip body that unpacks to huge_bytes")
    reset_rate: float = rate("a connection reset in mid-body")
    cut_rate: float = rate("a connection closed in mid-body")
    nul_rate: float = rate("an answer with a NUL character")
    surrogate_rate: float = rate("an answer with a lone surrogate")
    nan_rate: float = rate("NaN where a number is expected")
    huge_bytes: int = setting(300_000_000, int, "size of huge bodies, unpacked", least=1)
    drip_seconds: float = setting(0.5, float, "pause between two dripped bytes", least=0.001)

    def __post_init__(self) -> None:
        for declared in fields(self):
            _check(declared.name, getattr(self, declared.name), declared.default, declared.metadata)
        _check_model_latency(self.model_latency)
        _check_choice("limit_scope", self.limit_scope, LIMIT_SCOPES)
        _check_choice("limit_headers", self.limit_headers, LIMIT_HEADERS)
        if sum(self.fault_rates().values()) > 1:
            raise SettingsError("The fault rates add up to more than 1. Lower some of them.")

    def fault_rates(self) -> dict[str, float]:
        """Rates above zero by the name of their fault, in a fixed order."""
        rates = {name: getattr(self, f"{name}_rate") for name in RATED_FAULTS}
        return {name: value for name, value in rates.items() if value}

    def latency_factor(self, model: str) -> float:
        overrides = self.model_latency or {}
        return overrides.get(model, MODELS[model].latency_factor)


RATED_FAULTS = tuple(
    declared.name.removesuffix("_rate")
    for declared in fields(Settings)
    if declared.name.endswith("_rate")
)


def change(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """New settings with some values replaced; unknown names are refused."""
    names = [declared.name for declared in fields(Settings)]
    unknown = sorted(set(changes) - set(names))
    if unknown:
        raise SettingsError(
            f"Unknown setting {', '.join(map(repr, unknown))}. Choose from: {', '.join(names)}."
        )
    return replace(settings, **changes)


def _check(name: str, value: object, default: object, metadata: Mapping[str, Any]) -> None:
    if value is None and default is None:
        return
    kind = metadata["kind"]
    accepted = (int, float) if kind is float else (kind,)
    if isinstance(value, bool) or not isinstance(value, accepted):
        raise SettingsError(f"{name} must be of type {kind.__name__}, not {value!r}.")
    if not isinstance(value, int | float):
        return
    least, most = metadata["least"], metadata["most"]
    if not isfinite(value) or not least <= value <= most:
        bounds = f"at least {least:g}" if most == NO_UPPER_BOUND else f"from {least:g} to {most:g}"
        raise SettingsError(f"{name} must be {bounds}, not {value!r}.")


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise SettingsError(f"{name} must be {' or '.join(choices)}, not {value!r}.")


def _check_model_latency(factors: Mapping[str, float] | None) -> None:
    for model, factor in (factors or {}).items():
        if model not in MODELS:
            raise SettingsError(f"model_latency names {model!r}. Choose from: {', '.join(MODELS)}.")
        _check(f"model_latency of {model}", factor, 1.0, FACTOR_BOUNDS)
