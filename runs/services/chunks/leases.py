"""Leases chunks to workers, by the database's clock."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Min
from django.db.models.functions import Now

from runs.models import Candidate, Case, Chunk, ChunkState, Run, RunState, Score
from runs.selectors.case_sources import positions_of
from runs.selectors.limits.limits import is_waiting, paused_endpoints, slots_at_launch
from runs.services.chunks.kept_answers import anew_in, kept_in
from workers.engine.kinds import read_configuration
from workers.engine.records import Candidate as EngineCandidate
from workers.engine.records import Case as EngineCase
from workers.engine.records import Slice, Trial
from workers.engine.session import Session
from workers.engine.spec.configuration import Configuration
from workers.engine.throttling.permits import PRIORITY_WEIGHTS

LEASE = timedelta(seconds=settings.LEASE_SECONDS)  # a dead worker is noticed after this long
RENEW_SECONDS = SWEEP_SECONDS = settings.LEASE_SECONDS / 4  # a lease survives two lost renewals
MOST_SHARED = 500  # candidates; 10,000 of several runs would fill the memory of a worker
SUSPICIOUS_DEATHS = 2  # one worker may die of anything; two are a hint at what they worked on


@dataclass(frozen=True)
class RunParts:
    """What chunks of a run share. Candidates are all of the run's; where there are many, or new
    ones are born while it runs, those of one chunk."""

    run_id: int
    configuration: Configuration
    dataset_id: int
    positions: Sequence[int]  # of its cases in the dataset
    slots: int  # calls at once, as the run was launched
    candidates: dict[str, EngineCandidate] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)  # by position
    candidate_ids: dict[str, int] = field(default_factory=dict)

    @property
    def cases(self) -> int:
        return len(self.positions)

    def with_candidates(self, rows: Iterable[Candidate]) -> "RunParts":
        read = list(rows)
        return replace(
            self,
            candidates={row.key: row.as_engine for row in read},
            keys={row.position: row.key for row in read},
            candidate_ids={row.key: row.pk for row in read},
        )


@dataclass
class Growth:
    """What a worker went on with, after the trials of its chunk, without asking for another."""

    trials: list[Trial] = field(default_factory=list)
    cases: dict[int, EngineCase] = field(default_factory=dict)
    session: Session | None = None  # told of all that the worker found
    since: datetime | None = None  # the run has been going since then, when it took the session


@dataclass(frozen=True)
class Lease:
    """A chunk in the hands of one worker. The token fences its writes."""

    chunk_id: int
    token: int
    parts: RunParts
    work: Slice
    case_ids: dict[int, int]
    is_suspect: bool = False  # workers died of it, or beside it
    growth: Growth = field(default_factory=Growth, compare=False)


def lease_chunk(chunk_id: int, owner: str) -> Lease | None:
    """Take the pending chunk that a message names, or one of a run that has less than its share.

    A message stands for one chunk's work, whichever that is. None if nothing is left to take.
    """
    with transaction.atomic():
        chunk = next_chunk(chunk_id, paused_endpoints())
        if chunk is None:
            return None
        if chunk.deaths >= SUSPICIOUS_DEATHS and has_suspect(owner):
            hand_on_chunk(chunk.pk)
            return None
        free = Chunk.objects.filter(pk=chunk.pk, state=ChunkState.PENDING, token=chunk.token)
        chunk.token += 1
        taken = free.update(
            state=ChunkState.LEASED, owner=owner, token=chunk.token, lease_until=Now() + LEASE
        )
        if not taken:
            return None
    return read_lease(chunk)


def has_suspect(owner: str) -> bool:
    """A worker takes one suspect at a time: if it dies again, it is clear of what."""
    suspects = Chunk.objects.filter(deaths__gte=SUSPICIOUS_DEATHS, state=ChunkState.LEASED)
    return suspects.filter(owner=owner).exists()


def waits(run_id: int, paused: set[str]) -> bool:
    """Its chunks would only hold threads that other runs can use."""
    return bool(paused) and is_waiting(load_parts(run_id).configuration, paused)


def next_chunk(chunk_id: int, paused: set[str]) -> Chunk | None:
    """The next chunk of the live run that has the fewest in work for its priority; among equals,
    of the one that waits longest.

    While only one run has chunks to take, it is the one that the message names, unless that went
    for the message of another: then that one's chunk waits, and no other message will come for it.
    """
    pending = Chunk.objects.filter(state=ChunkState.PENDING, run__state__in=RunState.going())
    runs = pending.order_by().values_list("run_id", "run__priority").annotate(first=Min("pk"))
    waiting = {pk: (priority, first) for pk, priority, first in runs if not waits(pk, paused)}
    if not waiting:
        return None
    if len(waiting) == 1 and (named := pending.filter(pk=chunk_id, run_id__in=waiting).first()):
        return named
    in_work = Chunk.objects.filter(state=ChunkState.LEASED, run_id__in=waiting).order_by()
    busy = dict(in_work.values_list("run_id").annotate(Count("pk")))

    def turn(run_id: int) -> tuple[float, int]:
        priority, first = waiting[run_id]
        return busy.get(run_id, 0) / PRIORITY_WEIGHTS[priority], first

    of_run = pending.filter(run_id=min(waiting, key=turn))
    return of_run.select_for_update(skip_locked=True, of=("self",)).order_by("start").first()


def read_lease(chunk: Chunk) -> Lease:
    parts = load_parts(chunk.run_id)
    if not parts.candidates:
        positions = {trial[1] for trial in chunk.trials}
        born = Candidate.objects.filter(run_id=chunk.run_id, position__in=positions)
        parts = parts.with_candidates(born)
    trials = tuple(
        Trial(position, parts.keys[candidate], case, repeat)
        for position, candidate, case, repeat in chunk.trials
    )
    done = scored_positions(chunk) if chunk.token > 1 else frozenset[int]()
    case_ids: dict[int, int] = {}
    cases = read_cases(parts, {trial.case for trial in trials}, case_ids)
    kept, anew = kept_in(chunk.kept), anew_in(chunk.kept)
    work = Slice(trials, parts.candidates, cases, done, kept, anew)
    is_suspect = chunk.deaths >= SUSPICIOUS_DEATHS
    return Lease(chunk.pk, chunk.token, parts, work, case_ids, is_suspect)


def read_cases(
    parts: RunParts, numbers: Collection[int], ids: dict[int, int]
) -> dict[int, EngineCase]:
    """Cases of the run by their numbers in it; their ids are added to those given."""
    number_of = {parts.positions[number]: number for number in numbers}
    of_run = Case.objects.filter(dataset_id=parts.dataset_id, position__in=number_of)
    cases: dict[int, EngineCase] = {}
    expected_column = parts.configuration.expected_column
    for pk, position, fields in of_run.values_list("pk", "position", "fields"):
        number = number_of[position]
        ids[number] = pk
        cases[number] = EngineCase(position, fields, expected_column)
    return cases


def scored_positions(chunk: Chunk) -> frozenset[int]:
    """What a lease of the chunk already wrote."""
    positions = [trial[0] for trial in chunk.trials]
    rows = Score.objects.filter(run_id=chunk.run_id, position__in=positions)
    return frozenset(rows.values_list("position", flat=True))


@lru_cache(maxsize=16)
def load_parts(run_id: int) -> RunParts:
    run = Run.objects.select_related("dataset").get(pk=run_id)
    configuration = read_configuration(run.document)
    slots = slots_at_launch(run, configuration)
    parts = RunParts(run.pk, configuration, run.dataset_id, positions_of(run), slots)
    if configuration.grows or run.candidates.count() > MOST_SHARED:
        return parts
    return parts.with_candidates(run.candidates.all())


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


def set_aside_chunk(chunk_id: int, token: int) -> None:
    """Give a chunk back whose rest waits for a model that fails, so that others go first."""
    Chunk.objects.filter(pk=chunk_id, token=token, state=ChunkState.LEASED).update(
        state=ChunkState.SET_ASIDE, lease_until=None, owner="", sent=Now()
    )


def release_chunk(chunk_id: int, token: int) -> None:
    """Give a chunk back unfinished, as at a shutdown, so that another worker takes it at once."""
    Chunk.objects.filter(pk=chunk_id, token=token, state=ChunkState.LEASED).update(
        state=ChunkState.PENDING, lease_until=None, owner="", sent=None
    )
