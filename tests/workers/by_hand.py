"""Plays a worker without a process: takes chunks, says what became of their trials, records it."""

from collections.abc import Callable

from runs.models import ChunkState, Run
from runs.services.chunks.leases import Lease, lease_chunk
from runs.services.chunks.planning import advance_run
from runs.services.chunks.recording import Results, record_results
from workers.engine.records import Score, Trial

Outcome = Callable[[Trial], Score]


def next_lease(run: Run) -> Lease:
    lease = lease_chunk(run.chunks.filter(state=ChunkState.PENDING)[0].pk, "worker")
    assert lease is not None
    return lease


def work_through(run: Run, outcome: Outcome) -> Run:
    """As one worker does, chunk by chunk."""
    advance_run(run.pk)
    run.refresh_from_db()
    while not run.is_finished:
        lease = next_lease(run)
        left = [trial for trial in lease.work.trials if trial.position not in lease.work.done]
        results = Results(leases={lease.chunk_id: lease}, finished={lease.chunk_id})
        results.scores[lease.chunk_id] = [outcome(trial) for trial in left]
        assert record_results(run.pk, results) == set()
        run.refresh_from_db()
    return run
