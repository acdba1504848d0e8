"""Plays a worker without a process: takes chunks, says what became of their trials, records it. And
runs documents without any storage, to compare those of workers with."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runs.models import Chunk, ChunkState, Run
from runs.services.chunks.leases import Lease, lease_chunk
from runs.services.chunks.planning import advance_run, take_warm
from runs.services.chunks.recording import Results, record_results
from tests.engine.running import run_document
from workers.engine.records import Case, Score, Trial
from workers.simulator.demo import make_questions
from workers.simulator.testing import SimulatorClient

Outcome = Callable[[Trial], Score]
Plain = list[tuple[Any, ...]]


def lease_of(chunk: Chunk | int, owner: str = "worker") -> Lease:
    lease = lease_chunk(chunk if isinstance(chunk, int) else chunk.pk, owner)
    assert lease is not None
    return lease


def next_lease(run: Run) -> Lease:
    return lease_of(run.chunks.filter(state=ChunkState.PENDING)[0])


def work_one_chunk(run: Run, outcome: Outcome) -> None:
    lease = next_lease(run)
    left = [trial for trial in lease.work.trials if trial.position not in lease.work.done]
    results = Results(leases={lease.chunk_id: lease}, finished={lease.chunk_id})
    results.scores[lease.chunk_id] = [outcome(trial) for trial in left]
    assert record_results(run.pk, results) == set()
    run.refresh_from_db()


def work_through(run: Run, outcome: Outcome, *, in_turns: bool = False) -> Run:
    """As one worker does, chunk by chunk; in turns: each by another one, which replays the rest."""
    advance_run(run.pk)
    run.refresh_from_db()
    while not run.is_finished:
        work_one_chunk(run, outcome)
        if in_turns:
            take_warm(run.pk)
    return run


def plain(scores: Sequence[Score]) -> Plain:
    return [(score.trial, score.value, score.error) for score in scores]


def in_one_process(
    selection: dict[str, Any],
    simulator: SimulatorClient,
    rows: Sequence[Mapping[str, str]] | None = None,
) -> Plain:
    rows = rows or [question._asdict() for question in make_questions(20)]
    cases = [Case(place, row) for place, row in enumerate(rows)]
    return plain(asyncio.run(run_document(selection, cases, simulator.url)))
