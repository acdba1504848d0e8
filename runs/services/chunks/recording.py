"""Writes what became of trials: in bulk, fenced by the lease, each trial at most once.

Scores, counters and samples change in one transaction under a lock on the run's row, so that the
counters always equal a query over the scores.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from runs.live import publish
from runs.models import CachedReply, Chunk, ChunkState, Run, RunState
from runs.models import Score as ScoreRow
from runs.services.chunks.grown_chunks import hand_back_sessions, store_growth
from runs.services.chunks.inserting import Row, insert_rows, moment
from runs.services.chunks.judge_totals import count_judging, tally_judges
from runs.services.chunks.leases import Lease
from runs.services.chunks.planning import advance_soon, send_next_suspect
from runs.services.chunks.score_records import store_records
from runs.services.chunks.totals import (
    add_stored,
    add_to_candidates,
    add_to_run,
    add_to_sample,
    begin_day,
    tally_by_candidate,
    tally_calls,
)
from runs.services.control.budgets import watch_budget
from runs.services.control.failures import watch_failures, watch_row
from runs.services.control.pauses import settle_pause
from runs.services.day_dollars import watch_day
from runs.services.events import note_discarded
from workers.engine.calling.cache import checksum
from workers.engine.json_text import to_json
from workers.engine.records import Reply, Request, Score

Found = tuple[Lease, Score]

SCORE_FIELDS = (
    "run",
    "position",
    "candidate",
    "case",
    "repeat",
    "value",
    "passed",
    "error_class",
    "error_message",
    "answer",
    "details",
    "attempts",
    "latency_ms",
    "tokens_in",
    "tokens_out",
    "cost",
    "full_cost",
    "cached",
    "truncated",
    "calls",
    "judging",
    "finished",
)
REPLY_FIELDS = (
    "key",
    "endpoint",
    "model",
    "text",
    "latency_ms",
    "tokens_in",
    "tokens_out",
    "truncated",
    "checksum",
    "run",
    "created",
)

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
        store_growth(run, [results.leases[pk] for pk in held])
        _insert_scores(run, found)
        store_records(run, (score for _, score in found))
        _count(run, found, results.in_flight)
        done = results.finished & held
        Chunk.objects.filter(pk__in=done).update(state=ChunkState.DONE, lease_until=None, kept=None)
        transaction.on_commit(partial(publish, run.pk))
        if done:
            hand_back_sessions([results.leases[pk] for pk in done])
            _plan_more_if_low(run)
        if any(results.leases[pk].is_suspect for pk in done):
            transaction.on_commit(lambda: send_next_suspect(run.pk), robust=True)
        watch_budget(run, run.clock)
        watch_day(run, run.clock)
        watch_failures(run)
        watch_row(run, [score for _, score in found])
        if run.state == RunState.PAUSING:
            settle_pause(run.pk)
        lost = set(results.leases) - held
        if not run.is_finished:
            note_discarded(run, sum(len(results.scores[pk]) for pk in lost))
    return lost


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


def _insert_scores(run: Run, found: Sequence[Found]) -> None:
    now = moment(run.clock)  # type: ignore[attr-defined]  # the database's: workers' may differ
    insert_rows(ScoreRow, SCORE_FIELDS, [_row(run.pk, lease, score, now) for lease, score in found])


def _row(run_id: int, lease: Lease, score: Score, now: Any) -> Row:
    """In the order of SCORE_FIELDS."""
    trial = score.trial
    return (
        run_id,
        trial.position,
        lease.parts.candidate_ids[trial.candidate],
        lease.case_ids[trial.case],
        trial.repeat,
        score.value,
        score.passed,
        score.error,
        score.message[:500],
        score.answer,
        to_json([tuple(judgement) for judgement in score.judgements]).decode(),
        to_json([tuple(attempt) for attempt in score.attempts]).decode(),
        score.latency_ms,
        score.tokens_in,
        score.tokens_out,
        score.cost,
        score.full_cost,
        score.cached,
        score.truncated,
        to_json([tuple(call) for call in score.calls]).decode() if score.calls else None,
        _judging(score) if score.judging or score.unjudged else None,
        now,
    )


def _judging(score: Score) -> str:
    """Calls and sums of the judges; of an answer that nobody judged what a retry needs."""
    document: dict[str, Any] = {}
    if (judging := score.judging) is not None:
        document["use"] = count_judging(judging).as_document
        document["calls"] = [tuple(call) for call in judging.calls]
        document["attempts"] = [tuple(attempt) for attempt in judging.attempts]
    if (reply := score.unjudged) is not None:
        document["reply"] = (reply.latency_ms, reply.tokens_in, reply.tokens_out)
    return to_json(document).decode()


def _count(run: Run, found: Sequence[Found], in_flight: int) -> None:
    roles = [lease.parts.candidates[score.trial.candidate].role for lease, score in found]
    scores = [score for _, score in found]
    tallies = tally_by_candidate(
        (lease.parts.candidate_ids[score.trial.candidate], role, score)
        for role, (lease, score) in zip(roles, found, strict=True)
    )
    calls = tally_calls(zip(roles, scores, strict=True))
    begin_day(run, run.clock.astimezone(UTC).date())  # type: ignore[attr-defined]  # as above
    add_stored(run, scores)
    add_to_run(run, tallies, {**calls, **tally_judges(scores)}, in_flight)
    add_to_candidates(tallies)
    add_to_sample(run, scores, in_flight)


def _plan_more_if_low(run: Run) -> None:
    open_chunks = Chunk.objects.filter(run=run, state__in=ChunkState.at_work()).count()
    is_all_asked = run.asked - run.told("done") >= run.planned
    if open_chunks == 0 or (open_chunks < LOW_WATER and not is_all_asked):
        advance_soon(run.pk)


def store_replies(run_id: int | None, replies: Sequence[tuple[str, Request, Reply]]) -> None:
    """Keep paid answers, in a transaction of their own: they outlive a lost lease. Without a run
    they were asked for before a launch."""
    now = moment(timezone.now())
    rows = [
        (
            key,
            request.endpoint,
            request.model,
            reply.text,
            reply.latency_ms,
            reply.tokens_in,
            reply.tokens_out,
            reply.truncated,
            checksum(key, reply.text, reply.tokens_in, reply.tokens_out),
            run_id,
            now,
        )
        for key, request, reply in replies
    ]
    insert_rows(CachedReply, REPLY_FIELDS, rows, replace_on="key")
