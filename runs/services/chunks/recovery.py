"""The sweep: takes back the leases of dead workers and sends again what a lost message named.

Every worker runs it every few seconds, so there is no extra process to forget.
"""

from collections import Counter
from datetime import timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from runs.models import Chunk, ChunkState, EventLevel, Run, RunState
from runs.selectors.system.accidents import LOST_WORKER
from runs.services.cache import remove_due_answers
from runs.services.chunks.leases import SUSPICIOUS_DEATHS, read_lease, scored_positions
from runs.services.chunks.planning import send_chunks
from runs.services.chunks.recording import Results, record_results
from runs.services.control.budgets import watch_seconds
from runs.services.control.maintenance import hold_for_maintenance
from runs.services.control.outages import pause_hopeless
from runs.services.control.pauses import settle_pauses
from runs.services.events import note
from runs.services.removing.archiving import remove_due_parts
from runs.services.removing.configuration_trash import remove_due_configuration
from runs.services.removing.retention import prune_audit
from runs.services.removing.rules import keep_rules
from runs.services.removing.run_trash import remove_due
from workers.engine.errors import Poison
from workers.engine.records import Score
from workers.queue import count_queued_chunks, enqueue_advance

RESEND_AFTER = timedelta(seconds=10)  # a message this old whose chunk is still pending may be lost
RESEND_AT_ONCE = 200
DEATHS_ALONE = 3  # of workers on a trial that stands alone; then it is given up


def sweep(*, may_reclaim: bool = True) -> None:
    """Find what nobody is working on and have somebody work on it.

    Without `may_reclaim` leases are left alone: when the database was away, they could not be
    renewed, and their workers live.
    """
    if may_reclaim:
        reclaim_expired()
    hold_for_maintenance()
    settle_pauses()
    watch_seconds()
    pause_hopeless()
    resend_lost()
    advance_idle()
    prune_audit()
    keep_rules()
    remove_due()
    remove_due_parts()
    remove_due_configuration()
    remove_due_answers()


def reclaim_expired() -> None:
    """Take back what dead workers held; if it seems to have killed them, with more care."""
    expired = Chunk.objects.filter(state=ChunkState.LEASED, lease_until__lt=Now())
    chunks = list(expired)
    lost = Counter(chunk.run_id for chunk in chunks if take_back(chunk, expired))
    for run_id, count in lost.items():
        those = "1 chunk is" if count == 1 else f"{count} chunks are"
        told = f"{LOST_WORKER}; {those} handed to another one."
        note(Run(pk=run_id), told, EventLevel.WARNING)


@transaction.atomic
def take_back(chunk: Chunk, expired: QuerySet[Chunk]) -> bool:
    """False if somebody was faster, or its worker lives after all."""
    held = expired.filter(pk=chunk.pk, token=chunk.token).select_for_update()
    if not held.exists():
        return False
    scored = scored_positions(chunk)
    left = [trial for trial in chunk.trials if trial[0] not in scored]
    deaths = chunk.deaths + 1
    if deaths >= SUSPICIOUS_DEATHS + DEATHS_ALONE and len(left) == 1:
        quarantine(chunk)
        return True
    if deaths >= SUSPICIOUS_DEATHS and len(left) > 1:
        split(chunk, left)
        deaths = SUSPICIOUS_DEATHS  # of each half it is as likely
    held.update(state=ChunkState.PENDING, sent=None, deaths=deaths)
    return True


def split(chunk: Chunk, left: list[list[int]]) -> None:
    """Halve what is left to do, until the trial that kills its workers stands alone. Every trial
    stays in a chunk, also a scored one: it may be retried."""
    cut = chunk.trials.index(left[len(left) // 2])
    Chunk.objects.filter(pk=chunk.pk).update(trials=chunk.trials[:cut])
    Chunk.objects.create(
        run_id=chunk.run_id,
        start=chunk.trials[cut][0],
        trials=chunk.trials[cut:],
        kept=chunk.kept,
        deaths=SUSPICIOUS_DEATHS,
    )


def quarantine(chunk: Chunk) -> None:
    """Give one trial up, so that the rest can finish. Written in the name of the dead worker."""
    lease = read_lease(chunk)
    trial = next(t for t in lease.work.trials if t.position not in scored_positions(chunk))
    message = f"Its worker died {DEATHS_ALONE} times while working on it."
    results = Results(leases={chunk.pk: lease}, finished={chunk.pk})
    results.scores[chunk.pk] = [Score(trial, error=Poison.name, message=message)]
    record_results(chunk.run_id, results)
    note(Run(pk=chunk.run_id), f"Trial {trial.position} was given up. {message}", EventLevel.ERROR)


def resend_lost() -> None:
    """Pending chunks of going runs that no message names: given back, or lost with Redis.

    Old messages are only lost if the queue is shorter than the pending chunks; else they wait.
    """
    pending = Chunk.objects.filter(state=ChunkState.PENDING, run__state__in=RunState.going())
    is_unsent = Q(sent__isnull=True)
    if count_queued_chunks() < pending.count():
        is_unsent |= Q(sent__lt=Now() - RESEND_AFTER)
    chunk_ids = pending.filter(is_unsent).order_by("pk").values_list("pk", flat=True)
    if lost := list(chunk_ids[:RESEND_AT_ONCE]):
        send_chunks(lost)


def advance_idle() -> None:
    """Going runs without an open chunk: not started yet, or ready to go on or to finish."""
    open_chunks = Chunk.objects.filter(state__in=ChunkState.at_work())
    idle = Run.objects.filter(state__in=RunState.going()).exclude(
        pk__in=open_chunks.values("run_id")
    )
    for run_id in idle.values_list("pk", flat=True):
        enqueue_advance(run_id)
