"""Writes what became of trials: in bulk, fenced by the lease, each trial at most once.

Scores, counters and samples change in one transaction under a lock on the run's row, so that the
counters always equal a query over the scores.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from runs.live import publish
from runs.models import CachedReply, Chunk, ChunkState, Run
from runs.models import Score as ScoreRow
from runs.services.leases import Lease
from runs.services.planning import advance_run
from runs.services.totals import add_costs, add_to_candidates, add_to_run, add_to_sample
from workers.engine.records import Reply, Request, Score

Found = tuple[Lease, Score]

LOW_WATER = 24  # open chunks below which more are planned


@dataclass
class Results:
    """What a worker has for one run since its last write."""

    leases: dict[int, Lease] = field(default_factory=dict)
    scores: dict[int, list[Score]] = field(default_factory=lambda: defaultdict(list))
    finished: set[int] = field(default_factory=set)
    in_flight: int = 0


def record_results(run_id: int, results: Results) -> set[int]:
    """Store what a worker found. Returns the chunks it no longer holds; their scores
    are dropped. What was stored before is not stored again."""
    is_first_lease = all(lease.token == 1 for lease in results.leases.values())
    try:
        return _record(run_id, results, may_be_known=not is_first_lease)
    except IntegrityError:  # a write that seemed to have failed had not
        return _record(run_id, results, may_be_known=True)


def _record(run_id: int, results: Results, *, may_be_known: bool) -> set[int]:
    with transaction.atomic():
        run = Run.objects.select_for_update().annotate(clock=Now()).get(pk=run_id)
        held = set() if run.is_finished else _held_chunks(results.leases)
        found = _scores_of(results, held)
        if may_be_known:
            found = _without_known(run, found)
        now = timezone.now()
        rows = [_row(run, lease, score, now) for lease, score in found]
        ScoreRow.objects.bulk_create(rows)
        add_costs(run, [score for _, score in found])
        add_to_run(run, rows, results.in_flight)
        add_to_candidates(run, rows)
        add_to_sample(run, rows, results.in_flight)
        done = results.finished & held
        Chunk.objects.filter(pk__in=done).update(state=ChunkState.DONE, lease_until=None)
        transaction.on_commit(partial(publish, run.pk))
        if done:
            _plan_more_if_low(run)
    return set(results.leases) - held


def _held_chunks(leases: Mapping[int, Lease]) -> set[int]:
    """The chunks whose lease is still ours. Anything else was taken back meanwhile."""
    chunks = Chunk.objects.filter(pk__in=list(leases), state=ChunkState.LEASED)
    return {pk for pk, token in chunks.values_list("pk", "token") if leases[pk].token == token}


def _scores_of(results: Results, held: set[int]) -> list[Found]:
    return [
        (results.leases[chunk_id], score)
        for chunk_id, scores in results.scores.items()
        if chunk_id in held
        for score in scores
    ]


def _without_known(run: Run, found: list[Found]) -> list[Found]:
    positions = [score.trial.position for _, score in found]
    rows = ScoreRow.objects.filter(run=run, position__in=positions)
    known = set(rows.values_list("position", flat=True))
    return [pair for pair in found if pair[1].trial.position not in known]


def _row(run: Run, lease: Lease, score: Score, now: datetime) -> ScoreRow:
    trial = score.trial
    return ScoreRow(
        run_id=run.pk,
        position=trial.position,
        candidate_id=lease.parts.candidate_ids[trial.candidate],
        case_id=lease.case_ids[trial.case],
        repeat=trial.repeat,
        value=score.value,
        passed=score.passed,
        error_class=score.error,
        error_message=score.message[:500],
        answer=score.answer,
        details=[list(judgement) for judgement in score.judgements],
        attempts=[list(attempt) for attempt in score.attempts],
        latency_ms=score.latency_ms,
        tokens_in=score.tokens_in,
        tokens_out=score.tokens_out,
        cost=score.cost,
        cached=score.cached,
        finished=now,
    )


def _plan_more_if_low(run: Run) -> None:
    open_chunks = Chunk.objects.filter(
        run=run, state__in=[ChunkState.PENDING, ChunkState.LEASED]
    ).count()
    is_all_asked = run.asked >= run.planned
    if open_chunks == 0 or (open_chunks < LOW_WATER and not is_all_asked):
        # At once and in this process: a trip through the queue would let the pipe run dry.
        transaction.on_commit(partial(advance_run, run.pk), robust=True)


def store_replies(run_id: int, replies: Sequence[tuple[str, Request, Reply]]) -> None:
    """Keep paid answers, in a transaction of their own: they outlive a lost lease."""
    now = timezone.now()
    CachedReply.objects.bulk_create(
        [
            CachedReply(
                key=key,
                endpoint=request.endpoint,
                model=request.model,
                text=reply.text,
                latency_ms=reply.latency_ms,
                tokens_in=reply.tokens_in,
                tokens_out=reply.tokens_out,
                run_id=run_id,
                created=now,
            )
            for key, request, reply in replies
        ],
        update_conflicts=True,
        unique_fields=["key"],
        update_fields=["text", "latency_ms", "tokens_in", "tokens_out", "run", "created"],
    )
