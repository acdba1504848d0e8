"""Stores what is under test: at the launch, and what a strategy brings while its run goes on."""

from collections.abc import Iterable, Sequence

from runs.models import Candidate, Run
from workers.engine.records import Candidate as EngineCandidate

LONGEST_NAME = 250  # characters


def store_candidates(run: Run, candidates: Iterable[EngineCandidate], start: int = 0) -> None:
    Candidate.objects.bulk_create(
        Candidate(
            run=run,
            position=position,
            key=candidate.key,
            name=candidate.name[:LONGEST_NAME],
            document=candidate.document,
            role=candidate.role,
        )
        for position, candidate in enumerate(candidates, start)
    )


def store_births(run: Run, candidates: Sequence[EngineCandidate]) -> dict[str, int]:
    """Under the lock on the run's row, before the chunks that name them. Returns the position of
    each candidate by its key."""
    known = run.candidates.count()
    store_candidates(run, candidates[known:], known)
    return {candidate.key: position for position, candidate in enumerate(candidates)}


def forget_births(run: Run, kept: int) -> None:
    """After a replay that decided differently: the later ones were never born."""
    run.candidates.filter(position__gte=kept).delete()
