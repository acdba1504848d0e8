"""Puts trials back to be run: the failed ones of a run, or one that a person wants to see again.

Their scores go, their chunks open again, and a finished run goes on. What was sent for them stays
counted: it was paid. An answer that only could not be judged is kept, and judged again.
"""

from collections.abc import Collection, Iterable
from functools import partial
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from runs.live import publish
from runs.models import (
    AuditAction,
    Chunk,
    ChunkState,
    Endpoint,
    Run,
    RunState,
    Score,
)
from runs.selectors.case_sources import positions_of
from runs.selectors.limits.limits import configuration_now, decides
from runs.selectors.scores.score_records import may_have_records, records_of
from runs.services.audit import record
from runs.services.chunks.kept_answers import ANEW, answer_to_keep
from runs.services.chunks.planning import send_pending
from runs.services.control.budgets import refuse_if_spent
from runs.services.control.resuming import resume_run
from runs.services.control.rewinding import parts_of, take_out
from runs.services.events import note
from runs.services.gating import reopen_gate
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.kinds import KINDS
from workers.engine.spec.configuration import count_trials

DECIDED_ON = (
    "What came of this trial was decided on, so it is not run again alone. Retry all that failed, "
    "or duplicate the run: what was answered comes from the cache."
)


@transaction.atomic
def retry_failed(run: Run, user: AbstractBaseUser) -> int:
    """How many failed trials are tried again, by a paused run at once: it is resumed. Raises
    ConfigurationError if the run cannot go on."""
    locked = lock_to_go_on(run)
    if decides(locked):
        _prepare_decisions(locked)
    count = reopen(locked, locked.scores.filter(value=None))
    if count:
        trials = "1 failed trial" if count == 1 else f"{count:,} failed trials"
        note(locked, f"{user.get_username()} retried {trials}.")
        record(AuditAction.RUN_RETRIED, locked, trials, actor=user)
        resume_run(locked, user)
    return count


@transaction.atomic
def rerun_trial(run: Run, user: AbstractBaseUser, position: int) -> bool:
    """Ask for one trial anew, past the cache. False if nothing of it can be taken back now."""
    locked = lock_to_go_on(run)
    if decides(locked):
        raise ConfigurationError([Problem("", DECIDED_ON)])
    one = locked.scores.filter(position=position).select_related("candidate", "case")
    score = one.first()
    if score is None:
        return False
    refuse_without_endpoints(locked, [score])
    if not reopen(locked, one, anew={position}):
        return False
    note(locked, f"{user.get_username()} ran trial {position} again.")
    record(AuditAction.RUN_RETRIED, locked, f"trial {position}", actor=user)
    return True


def lock_to_go_on(run: Run) -> Run:
    """ConfigurationError if the run cannot go on."""
    locked = Run.objects.select_for_update().annotate(clock=Now()).get(pk=run.pk)
    if locked.remove_after is not None:
        told = "This run is deleted. Bring it back first, then retry."
        raise ConfigurationError([Problem("", told)])
    if locked.state in {RunState.CANCELLED, RunState.FAILED}:
        told = f"A run that was {locked.state} does not go on. Duplicate it to run it again."
        raise ConfigurationError([Problem("", told)])
    refuse_if_spent(locked, locked.clock)
    return locked


def _prepare_decisions(run: Run) -> None:
    """What the strategy decided may change with what failed: it is replayed when all of that has a
    score, and goes on from the first trial that it would not ask for again."""
    if not run.is_finished and run.state != RunState.PAUSED:
        told = "The run decides by what failed. Let it end, or pause it, then retry what failed."
        raise ConfigurationError([Problem("", told)])
    configuration = configuration_now(run)
    ranked = configuration.count_ranked(len(positions_of(run)))
    run.planned = count_trials(configuration, ranked)
    run.save(update_fields=["planned"])


def refuse_without_endpoints(run: Run, scores: Iterable[Score]) -> None:
    """Before anything is taken back: without its endpoint a trial can only fail."""
    documents = {score.candidate_id: score.candidate.document for score in scores}
    called = KINDS[run.kind].models_called
    names = {model["endpoint"] for document in documents.values() for model in called(document)}
    there = set(Endpoint.objects.filter(name__in=names).values_list("name", flat=True))
    if missing := sorted(names - there):
        told = f"The endpoint {missing[0]} was removed, so these trials cannot be run again."
        raise ConfigurationError([Problem("", told)])


def reopen(run: Run, scores: Iterable[Score], anew: Collection[int] = ()) -> int:
    """Trials of chunks that are worked on now stay: their workers have them already. An answer
    that only could not be judged is judged again, others are looked for in the cache; those of the
    positions `anew` are asked for past it, and it loses nothing that others paid for."""
    wanted = {score.position: score for score in scores}
    closed_ids, found = [], []
    kept: dict[int, dict[str, Any]] = {}
    records = records_of(list(wanted.values())) if may_have_records(run) else {}
    free = run.chunks.select_for_update().exclude(state=ChunkState.LEASED)
    for chunk_id, state, trials, earlier in free.values_list("pk", "state", "trials", "kept"):
        if hits := [wanted[trial[0]] for trial in trials if trial[0] in wanted]:
            is_closed = state == ChunkState.DONE
            closed_ids += [chunk_id] if is_closed else []
            found += hits
            kept[chunk_id] = {} if is_closed else dict(earlier or {})  # of what has no score yet
            kept[chunk_id] |= {
                str(score.position): one
                for score in hits
                if (one := answer_for(score, records.get(score.pk), anew))
            }
    if not found:
        return 0
    take_out(run, found)
    for part in parts_of(closed_ids):
        Chunk.objects.filter(pk__in=part).update(state=ChunkState.PENDING, sent=None, deaths=0)
    for chunk_id, answers in kept.items():
        if answers:
            Chunk.objects.filter(pk=chunk_id).update(kept=answers)
    _go_on(run)
    return len(found)


def answer_for(score: Score, record: Any, anew: Collection[int]) -> dict[str, Any] | None:
    return ANEW if score.position in anew else answer_to_keep(score, record)


def _go_on(run: Run) -> None:
    if run.ended is not None:
        reopen_gate(run)
        run.ran_seconds = run.running_seconds(run.ended)
        Run.objects.filter(pk=run.pk).update(
            state=RunState.RUNNING,
            reason="",
            ended=None,
            ran_seconds=run.ran_seconds,
            going_since=Now(),
        )
    Run.objects.filter(pk=run.pk).update(version=F("version") + 1)
    if run.state not in RunState.held():
        transaction.on_commit(partial(send_pending, [run.pk]))
    transaction.on_commit(partial(publish, run.pk, always=True))
