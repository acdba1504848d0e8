"""Decides whether a request meets a fault: by its model's suffix, by script, or by rate."""

from collections.abc import Mapping

from workers.simulator.answers.seeded import draw, pick
from workers.simulator.faults import FAULTS
from workers.simulator.models import MODELS
from workers.simulator.protocols.exchange import FaultOrder
from workers.simulator.records import Refusal, RefusedError

ERROR_STATUSES = (500, 502, 503)
PLAIN_SUFFIX = "latest"  # Ollama's usual tag
RETRY_AFTER_SECONDS = 1.0  # what a 429 asked for by suffix says


class AskedModel:
    """A model's name as asked: `sim-small`, or with a fault as in `sim-small:hang`."""

    __slots__ = ("name", "order")

    def __init__(self, asked: str, kind: str) -> None:
        self.name, _, suffix = asked.partition(":")
        model = MODELS.get(self.name)
        self.order = None if suffix in ("", PLAIN_SUFFIX) else _order_of(suffix)
        if model is None or (self.order is None and suffix not in ("", PLAIN_SUFFIX)):
            raise RefusedError(_unknown(asked))
        if model.kind != kind:
            offered = ", ".join(name for name, model in MODELS.items() if model.kind == kind)
            raise RefusedError(
                Refusal(400, f"The model '{asked}' does not support {kind}. Use one of: {offered}.")
            )


def order_by_rate(
    rates: Mapping[str, float], seed: int, body_hash: int, times_asked: int
) -> FaultOrder | None:
    """The fault the rates choose, if any.

    It depends on the request and on how often it came, not on the order of arrival: the same
    load meets the same faults at any concurrency, and a retry gets a new chance. (A request that
    a limit refused has come once, too.)
    """
    if not rates:
        return None
    luck = draw(seed, "fault", body_hash, times_asked)
    for name, rate in rates.items():
        if luck < rate:
            status = pick(ERROR_STATUSES, seed, "status", body_hash, times_asked)
            return FaultOrder(name, status=status)
        luck -= rate
    return None


def _order_of(suffix: str) -> FaultOrder | None:
    if suffix.isdecimal() and 400 <= int(suffix) <= 599:
        status = int(suffix)
        retry_after = RETRY_AFTER_SECONDS if status == 429 else None
        return FaultOrder("status", status=status, retry_after=retry_after)
    return FaultOrder(suffix) if suffix in FAULTS else None


def _unknown(asked: str) -> Refusal:
    return Refusal(
        404,
        f"The model '{asked}' does not exist. Use one of: {', '.join(MODELS)}; "
        f"for a fault add a status or one of these: {', '.join(FAULTS)}, as in sim-small:hang.",
        param="model",
        code="model_not_found",
    )
