"""Lets a worker go on with rounds of a few trials by itself: its chunk grows by them.

What the worker planned is stored with what it found, a few times a second, under the lock on the
run's row and fenced by the lease. A worker that dies loses what it planned since: whoever takes
its chunk plans the same again, and finds the answers in the cache.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from django.db import transaction

from runs.models import Chunk, ChunkState, Run, RunState
from runs.selectors.cache import find_replies
from runs.selectors.limits.limits import configuration_now
from runs.services.chunks.leases import Lease, read_cases
from runs.services.chunks.planning import as_rows, keep_warm, session_of, take_warm
from workers.engine.chunks import chunk_size
from workers.engine.records import Reply, Score, Slice
from workers.engine.session import Session
from workers.engine.spec.configuration import Configuration

LARGEST_GROWN_CHUNK = 500  # trials; all of them are written again with every write

MOST_READ_AHEAD = 300  # cases

Keys = Callable[[Slice], list[str]]
"""Under what the first calls of trials are cached."""


class Round(NamedTuple):
    work: Slice
    hits: Mapping[str, Reply]


def may_grow(lease: Lease) -> bool:
    """Whether the chunk may be all that its run has to do: then the next round is its worker's.
    Not where candidates are born: those are stored by planning, under the run's lock."""
    trials = len(lease.work.trials) + len(lease.growth.trials)
    configuration = lease.parts.configuration
    if not configuration.decides or configuration.grows or counts_candidates(configuration):
        return False
    return trials <= LARGEST_GROWN_CHUNK


def counts_candidates(configuration: Configuration) -> bool:
    """Only planning sees how many candidates of a run are open."""
    limits = configuration.limits
    return bool(limits.max_concurrent_candidates or limits.candidate_batch_size)


def largest_small_round(lease: Lease) -> int:
    """A round of more trials is several chunks, for several workers. Under two_level it must fit
    into the slots: then the split leaves nobody waiting, and planning need not be asked."""
    size, slots = chunk_size(lease.parts.slots), lease.parts.slots
    is_split = lease.parts.configuration.limits.schedule == "two_level"
    return min(size, slots) if is_split else size


def take_session(lease: Lease, found: Sequence[Score]) -> Session | None:
    """The strategy of a run, for the worker whose chunk was the last of a round. None if more of
    the round is open."""
    going = Run.objects.select_related("dataset").filter(state__in=RunState.going())
    run = going.filter(pk=lease.parts.run_id, asked=lease.work.trials[-1].position + 1).first()
    if run is None or is_open_elsewhere(run, lease):
        return None
    session = session_of(run, configuration_now(run))
    if session is None:
        return None
    is_behind = session.asked < run.asked or session.first_difference(run.asked) is not None
    if is_behind or not session.unscored() <= {score.trial.position for score in found}:
        return None
    take_warm(run.pk)
    lease.growth.since = run.going_since
    return session


def is_open_elsewhere(run: Run, lease: Lease) -> bool:
    """Seen without the history, which may be long."""
    others = run.chunks.filter(state__in=ChunkState.at_work()).exclude(pk=lease.chunk_id)
    return others.exists()


def plan_round(
    lease: Lease, session: Session, found: Sequence[Score], keys: Keys, is_turn_over: bool
) -> Round | None:
    """The next round, if it is small. None: the chunk ends, and the queue decides who goes on."""
    unscored = session.unscored()
    session.absorb_fresh(one for one in found if one.trial.position in unscored)
    if not may_grow(lease) or (is_turn_over and do_others_wait(lease.parts.run_id)):
        return None
    trials = tuple(session.plan_small(largest_small_round(lease)))
    if not trials:
        return None
    read_ahead(lease, {trial.case for trial in trials})
    unjudged = lease.work.unjudged
    work = Slice(trials, lease.parts.candidates, lease.growth.cases, unjudged=unjudged)
    return Round(work, find_replies(keys(work)))


def read_ahead(lease: Lease, wanted: set[int]) -> None:
    """Where there are few cases, read all of them: any may be next, each is wanted soon."""
    known, parts = lease.growth.cases, lease.parts
    if missing := wanted - known.keys():
        all_of_few = range(parts.cases) if parts.cases <= MOST_READ_AHEAD else ()
        known.update(read_cases(parts, missing.union(all_of_few), lease.case_ids))


def do_others_wait(run_id: int) -> bool:
    """For a worker's thread: with chunks to be taken, or to be planned at all."""
    if Run.objects.filter(state=RunState.QUEUED).exists():
        return True
    pending = Chunk.objects.filter(state=ChunkState.PENDING, run__state__in=RunState.going())
    return pending.exclude(run_id=run_id).exists()


def store_growth(run: Run, leases: Iterable[Lease]) -> None:
    """Put what workers planned into their chunks, before what they found is stored. Said in whole
    each time: a write that is done again changes nothing."""
    for lease in leases:
        more = list(lease.growth.trials)  # its worker goes on meanwhile
        if not more or more[-1].position < run.asked:
            continue
        places = {key: place for place, key in lease.parts.keys.items()}
        trials = as_rows([*lease.work.trials, *more], places)
        Chunk.objects.filter(pk=lease.chunk_id).update(trials=trials)
        run.asked = more[-1].position + 1
        run.save(update_fields=["asked"])


def hand_back_sessions(leases: Iterable[Lease]) -> None:
    """Of chunks that ended here: all that they were told is stored now."""
    for lease in leases:
        if (session := lease.growth.session) is not None:
            run_id, since = lease.parts.run_id, lease.growth.since
            transaction.on_commit(partial(keep_warm, run_id, since, session))
