"""The sweep: takes back the leases of dead workers and sends again what a lost message named.

Every worker runs it every few seconds, so there is no extra process to forget.
"""

from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from runs.models import Chunk, ChunkState, EventLevel, Run, RunState
from runs.services.budgets import watch_seconds
from runs.services.events import note
from runs.services.outages import pause_hopeless
from runs.services.pauses import settle_pauses
from runs.services.planning import send_chunks
from workers.queue import count_queued_chunks, enqueue_advance

RESEND_AFTER = timedelta(seconds=10)  # a message this old whose chunk is still pending may be lost
RESEND_AT_ONCE = 200


def sweep() -> None:
    """Find what nobody is working on and have somebody work on it."""
    reclaim_expired()
    settle_pauses()
    watch_seconds()
    pause_hopeless()
    resend_lost()
    advance_idle()


@transaction.atomic
def reclaim_expired() -> None:
    expired = list(
        Chunk.objects.filter(state=ChunkState.LEASED, lease_until__lt=Now()).values_list(
            "pk", "token", "run_id"
        )
    )
    for pk, token, run_id in expired:
        taken_back = Chunk.objects.filter(
            pk=pk, token=token, state=ChunkState.LEASED, lease_until__lt=Now()
        ).update(state=ChunkState.PENDING, sent=None, deaths=F("deaths") + 1)
        if taken_back:
            note(Run(pk=run_id), f"A worker was lost; chunk {pk} goes on.", EventLevel.WARNING)


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
