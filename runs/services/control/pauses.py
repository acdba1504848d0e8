"""Pauses runs: what is stored stays, what is not is asked after the resume."""

from functools import partial

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from runs.live import publish
from runs.models import AlertEvent, AuditAction, ChunkState, EventLevel, Run, RunState
from runs.selectors.runs.outcome import PAUSED_BY
from runs.selectors.runs.planned import planned_text
from runs.services.audit import record
from runs.services.chunks.planning import advance_soon
from runs.services.events import note
from runs.services.webhooks import announce

LONGEST_REASON = 300  # characters, with the name of who paused it


@transaction.atomic
def pause_run(run: Run, user: AbstractBaseUser, reason: str = "", *, now: bool = False) -> bool:
    """Start no more calls; those in flight end and are stored, or are cancelled with `now` and
    asked again after the resume. False if there was nothing to change."""
    why = f": {reason.strip()}" if reason.strip() else ""
    if not hold_run(run.pk, f"{PAUSED_BY}{user.get_username()}{why}", now=now):
        return False
    record(AuditAction.RUN_PAUSED, run, reason.strip(), actor=user)
    return True


@transaction.atomic
def hold_run(
    run_id: int,
    reason: str,
    *,
    now: bool = False,
    level: EventLevel = EventLevel.INFO,
    event: AlertEvent = AlertEvent.PAUSED,
) -> bool:
    """Pause a run, saying why; the workers notice within a second."""
    may_change = Q(state__in=RunState.going())
    if now:
        may_change |= Q(state=RunState.PAUSING, drops_calls=False)
    reason = reason[:LONGEST_REASON]
    held = Run.objects.filter(may_change, pk=run_id).update(
        state=RunState.PAUSING, reason=reason, drops_calls=now, version=F("version") + 1
    )
    if not held:
        return False
    announce(run_id, event, reason)
    calls = "the calls in flight are cancelled" if now else "the calls in flight end first"
    note(Run(pk=run_id), f"{reason}; {calls}."[:500], level)
    transaction.on_commit(partial(publish, run_id, always=True))
    settle_pause(run_id)
    return True


@transaction.atomic
def settle_pause(run_id: int) -> bool:
    """A pausing run is paused when nobody works on it; if nothing is left to do, it finishes."""
    pausing = Run.objects.select_for_update().filter(pk=run_id, state=RunState.PAUSING)
    run = pausing.annotate(clock=Now()).first()
    if run is None or run.chunks.filter(state=ChunkState.LEASED).exists():
        return False
    if run.done >= run.planned:
        Run.objects.filter(pk=run_id).update(state=RunState.RUNNING, drops_calls=False)
        advance_soon(run_id)
        return False
    Run.objects.filter(pk=run_id).update(
        state=RunState.PAUSED,
        ran_seconds=run.running_seconds(run.clock),
        going_since=None,
        drops_calls=False,
        version=F("version") + 1,
    )
    note(run, f"Paused: {run.done:,} of {planned_text(run)} are stored.")
    transaction.on_commit(partial(publish, run_id, always=True))
    return True


def settle_pauses() -> None:
    """Also of runs whose last worker died, or was stopped, while they were pausing."""
    for run_id in Run.objects.filter(state=RunState.PAUSING).values_list("pk", flat=True):
        settle_pause(run_id)
