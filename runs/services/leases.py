"""Leases chunks to workers, by the database's clock."""

from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from runs.models import Candidate, Case, Chunk, ChunkState, Run, Score
from workers.engine.records import Candidate as EngineCandidate
from workers.engine.records import Case as EngineCase
from workers.engine.records import Slice, Trial
from workers.engine.spec import Configuration, read_configuration

LEASE = timedelta(seconds=20)  # a dead worker is noticed after this long


@dataclass(frozen=True)
class RunParts:
    """What all chunks of a run share; never changes once the run is stored."""

    run_id: int
    configuration: Configuration
    candidates: dict[str, EngineCandidate]
    keys: list[str]
    candidate_ids: dict[str, int]
    dataset_id: int


@dataclass(frozen=True)
class Lease:
    """A chunk in the hands of one worker. The token fences its writes."""

    chunk_id: int
    token: int
    parts: RunParts
    work: Slice
    case_ids: dict[int, int]


def lease_chunk(chunk_id: int, owner: str) -> Lease | None:
    """Take a pending chunk. None if it is taken, done, or its run is over."""
    with transaction.atomic():
        taken = Chunk.objects.filter(pk=chunk_id, state=ChunkState.PENDING).update(
            state=ChunkState.LEASED, owner=owner, token=F("token") + 1, lease_until=Now() + LEASE
        )
        if not taken:
            return None
        chunk = Chunk.objects.get(pk=chunk_id)
    return read_lease(chunk)


def read_lease(chunk: Chunk) -> Lease:
    parts = load_parts(chunk.run_id)
    trials = tuple(
        Trial(chunk.start + offset, parts.keys[candidate], case, repeat)
        for offset, (candidate, case, repeat) in enumerate(chunk.trials)
    )
    rows = list(
        Case.objects.filter(
            dataset_id=parts.dataset_id, position__in={trial.case for trial in trials}
        )
    )
    cases = {row.position: EngineCase(row.position, row.fields) for row in rows}
    work = Slice(trials, parts.candidates, cases, scored_positions(chunk))
    return Lease(chunk.pk, chunk.token, parts, work, {row.position: row.pk for row in rows})


def scored_positions(chunk: Chunk) -> frozenset[int]:
    """What an earlier lease of the chunk already wrote."""
    if chunk.token == 1:
        return frozenset()
    stop = chunk.start + len(chunk.trials)
    rows = Score.objects.filter(run_id=chunk.run_id, position__range=(chunk.start, stop - 1))
    return frozenset(rows.values_list("position", flat=True))


@lru_cache(maxsize=16)
def load_parts(run_id: int) -> RunParts:
    run = Run.objects.get(pk=run_id)
    rows = list(Candidate.objects.filter(run=run).order_by("position"))
    return RunParts(
        run_id=run.pk,
        configuration=read_configuration(run.document),
        candidates={row.key: EngineCandidate(row.key, row.name, row.document) for row in rows},
        keys=[row.key for row in rows],
        candidate_ids={row.key: row.pk for row in rows},
        dataset_id=run.dataset_id,
    )


def renew_leases(tokens: dict[int, int]) -> None:
    """Keep the leases of chunks still being worked on."""
    held = [
        pk
        for pk, token in Chunk.objects.filter(pk__in=tokens, state=ChunkState.LEASED).values_list(
            "pk", "token"
        )
        if tokens[pk] == token
    ]
    Chunk.objects.filter(pk__in=held, state=ChunkState.LEASED).update(lease_until=Now() + LEASE)


def hand_on_chunk(chunk_id: int) -> None:
    """A message came to a worker that is stopping: have the sweep send another one."""
    Chunk.objects.filter(pk=chunk_id, state=ChunkState.PENDING).update(sent=None)


def release_chunk(chunk_id: int, token: int) -> None:
    """Give a chunk back unfinished, as at a shutdown, so that another worker takes it at once."""
    Chunk.objects.filter(pk=chunk_id, token=token, state=ChunkState.LEASED).update(
        state=ChunkState.PENDING, lease_until=None, owner="", sent=None
    )
