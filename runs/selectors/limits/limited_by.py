"""What keeps a run from going faster just now, in one sentence with the number and what to do.

Read from what the workers share in Redis: what they hold, how many calls wait for a permit, and how
far the starts are ahead of their rates. Of all limits the fullest one binds.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from pydantic import BaseModel

from runs import formatting
from runs.models import Run, RunState
from runs.selectors.case_sources import positions_of
from runs.selectors.endpoints.load import stricter
from runs.selectors.endpoints.permit_state import PermitState
from runs.selectors.health import NO_WORKER, is_without_worker
from runs.selectors.limits.calls_now import ModelNow, Now
from runs.selectors.limits.limits import WAITING, slots_now
from workers.engine.schedule import share_round
from workers.engine.throttling.permits import burst_of, interval_of

Cause = Literal[
    "run_slots",
    "owner_slots",
    "schedule",
    "run_requests",
    "run_tokens",
    "endpoint_slots",
    "endpoint_requests",
    "endpoint_tokens",
    "adaptive",
    "pause",
    "breaker",
    "endpoint_paused",
    "workers",
    "last_answers",
]
OWN_LEVER = "under Limits and budget"
ENDPOINT_LEVER = "An operator can raise it on the endpoint's page."
PROVIDER_LEVER = "The provider itself said so; only it can allow more."


class LimitedBy(BaseModel):
    """What a run waits for now. `limit` is the number that binds, of `model` where it is one."""

    cause: Cause
    limit: int | None = None
    model: str = ""
    text: str


class Full(NamedTuple):
    """A limit, and how much of it is in use: from 1 on there is no room."""

    share: float
    found: LimitedBy


def limit_of(run: Run, now: Now | None) -> LimitedBy | None:
    """None where nothing can be said: the run does not go on, or nobody knows."""
    if run.state not in RunState.going():
        return None
    if is_without_worker():
        return LimitedBy(cause="workers", limit=0, text=f"{NO_WORKER}.")
    if run.reason.startswith(WAITING):
        what = run.reason.removeprefix(WAITING)
        text = f"{what[:1].upper()}{what[1:]}. An operator can resume it on the endpoint's page."
        return LimitedBy(cause="endpoint_paused", limit=0, text=text)
    if now is None or not now.models:
        return None
    waiting = [model for model in now.models if model.state.waiting[run.pk]]
    if waiting:
        return fullest(now, max(waiting, key=lambda model: model.state.waiting[run.pk]))
    return stopped_by(now) or idle_by(now)


def stopped_by(now: Now) -> LimitedBy | None:
    """A model that gets no calls, when no other has any: its trials wait aside, for no permit."""
    if now.held:
        return None
    return next((found for model in now.models if (found := silence_of(model))), None)


def idle_by(now: Now) -> LimitedBy:
    """No call waits for a permit."""
    if now.has_pending:
        text = (
            "Limited by the workers: all of them are busy, and calls could still start. "
            "Start another with manage.py work."
        )
        return LimitedBy(cause="workers", text=text)
    if now.configuration.limits.schedule == "two_level" and now.run.asked < now.run.planned:
        text = (
            "Limited by the schedule two_level: the next candidates begin when one of these is "
            "done. work_conserving leaves no slot empty."
        )
        return LimitedBy(cause="schedule", text=text)
    of_what = "of this round" if now.configuration.learns else "of the run"
    text = f"Nothing limits it: it waits for the last answers {of_what}."
    return LimitedBy(cause="last_answers", text=text)


def fullest(now: Now, model: ModelNow) -> LimitedBy:
    """What the calls to this model wait for."""
    if silence := silence_of(model):
        return silence
    limits = [*slots_in_use(now, model), *rates_in_use(now, model)]
    return max(limits, key=lambda full: min(full.share, 1.0)).found


def silence_of(model: ModelNow) -> LimitedBy | None:
    state, label = model.state, model.label
    if state.is_broken:
        left = formatting.duration(state.broken_seconds)
        tried = f"the next try is in {left}" if state.broken_seconds else "one call is tried"
        tried = f"{tried}. The Events tab says why."
        text = f"{label} keeps failing, so no calls are made: {tried}"
        return LimitedBy(cause="breaker", limit=0, model=label, text=text)
    if state.gate_seconds:
        left = formatting.duration(state.gate_seconds)
        text = (
            f"{label} answered 429 (too many requests), so no calls start for {left}. "
            "They go on by themselves."
        )
        return LimitedBy(cause="pause", limit=0, model=label, text=text)
    return None


def slots_in_use(now: Now, model: ModelNow) -> list[Full]:
    found = [slots_of_model(now, model)]
    own = now.configuration.limits.max_concurrent
    if now.configuration.limits.schedule == "two_level" and not now.configuration.learns:
        found.insert(0, slots_of_schedule(now))
    elif own is not None:
        lever = f"Raise Calls at once {OWN_LEVER}."
        if now.configuration.limits.schedule == "sequential":
            lever = "Its schedule is sequential."
        calls = formatting.counted(own, "call")
        text = f"Limited by the run's own {calls} at once. {lever}"
        limited = LimitedBy(cause="run_slots", limit=own, text=text)
        found.insert(0, Full(now.held / own, limited))
    return [*found, *slots_of_owner(now)]


def slots_of_owner(now: Now) -> list[Full]:
    """What an administrator allows the run's owner, over all of their runs."""
    slots = now.owner_slots
    if slots is None or now.of_owner is None:
        return []
    held = now.of_owner.held.total()
    calls, others = formatting.counted(slots, "call"), held - now.held
    shared = f" Other runs of theirs use {others:,} of them." if others > 0 else ""
    text = f"Limited by its owner's {calls} at once. An administrator can raise it.{shared}"
    return [Full(held / max(1, slots), LimitedBy(cause="owner_slots", limit=slots, text=text))]


def slots_of_schedule(now: Now) -> Full:
    slots = slots_now(now.configuration, {each.endpoint.name: each.endpoint for each in now.models})
    cases = len(positions_of(now.run))
    plan = share_round(now.configuration, cases, slots)
    candidates, each = plan.split
    text = (
        f"Limited by the schedule two_level: {formatting.counted(candidates, 'candidate')} × "
        f"{formatting.counted(each, 'call')} at once. work_conserving leaves no slot empty."
    )
    limited = LimitedBy(cause="schedule", limit=plan.in_split, text=text)
    return Full(now.held / plan.in_split, limited)


def slots_of_model(now: Now, model: ModelNow) -> Full:
    most, slots = model.endpoint.max_concurrent, max(1, model.slots)
    held = model.state.held.total()
    others = held - model.state.held[now.run.pk]
    shared = f" Other runs use {others:,} of them." if others > 0 else ""
    if slots < most:
        text = (
            f"Limited by the adaptive limit of {model.label}, {slots:,} of {most:,} calls at once "
            f"now. It grows while calls are answered.{shared}"
        )
        return Full(
            held / slots,
            LimitedBy(cause="adaptive", limit=slots, model=model.label, text=text),
        )
    name = name_of(now, model)
    text = (
        f"Limited by {name}'s {formatting.counted(most, 'call')} at once. {ENDPOINT_LEVER}{shared}"
    )
    limited = LimitedBy(cause="endpoint_slots", limit=most, model=model.label, text=text)
    return Full(held / slots, limited)


def rates_in_use(now: Now, model: ModelNow) -> list[Full]:
    limits, endpoint, state = now.configuration.limits, model.endpoint, model.state
    rpm = stricter(endpoint.requests_per_minute, state.told_requests)
    tpm = stricter(endpoint.tokens_per_minute, state.told_tokens)
    name, each = name_of(now, model), tokens_each(state)
    found = [
        rate_full(limits.requests_per_minute, now.own.requests_ahead, "run_requests"),
        rate_full(
            limits.tokens_per_minute, now.own.tokens_ahead, "run_tokens", tokens_each(now.own)
        ),
        rate_full(rpm, state.requests_ahead, "endpoint_requests"),
        rate_full(tpm, state.tokens_ahead, "endpoint_tokens", each),
    ]
    told = {
        "endpoint_requests": rpm != endpoint.requests_per_minute,
        "endpoint_tokens": tpm != endpoint.tokens_per_minute,
    }
    return [
        Full(full.share, full.found.model_copy(update=rate_text(full.found, model, name, told)))
        for full in found
        if full is not None
    ]


def rate_text(
    found: LimitedBy, model: ModelNow, name: str, told: Mapping[str, bool]
) -> dict[str, str]:
    what = "tokens" if found.cause.endswith("tokens") else "requests"
    number = f"{found.limit:,} {what} a minute"
    if found.cause.startswith("run"):
        lever = f"Raise {what.capitalize()} a minute {OWN_LEVER}."
        return {"text": f"Limited by the run's own {number}. {lever}"}
    lever = PROVIDER_LEVER if told[found.cause] else ENDPOINT_LEVER
    return {"text": f"Limited by {name}'s {number}. {lever}", "model": model.label}


def rate_full(per_minute: int | None, ahead: float, cause: Cause, each: float = 1.0) -> Full | None:
    """How far the starts have used up what a rate lets begin at once."""
    if not per_minute:
        return None
    interval = interval_of(per_minute)
    burst = max(float(burst_of(per_minute)), each)
    room = burst * interval - ahead  # seconds' worth of starts; one call takes `each` of them
    share = 1.0 if room < interval * each else 1.0 - room / (burst * interval)
    return Full(share, LimitedBy(cause=cause, limit=per_minute, text=""))


def tokens_each(state: PermitState) -> float:
    """Of a call in the last minute."""
    return max(1.0, state.tokens / state.calls) if state.calls else 1.0


def name_of(now: Now, model: ModelNow) -> str:
    """The endpoint alone where the run calls one model of it: limits hold for each model."""
    models = [each for each in now.models if each.endpoint.pk == model.endpoint.pk]
    return model.endpoint.name if len(models) == 1 else model.label
