"""Stores what is under test: at the launch, and what a strategy brings while its run goes on."""

from collections.abc import Iterable, Sequence
from itertools import takewhile

from runs.models import Candidate, Run
from workers.engine.records import Candidate as EngineCandidate
from workers.engine.spec.births import check_births
from workers.engine.spec.configuration import Configuration

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


def store_births(
    run: Run, configuration: Configuration, candidates: Sequence[EngineCandidate]
) -> dict[str, int]:
    """Under the lock on the run's row, before the chunks that name them. Returns the position of
    each candidate by its key. ConfigurationError if one could not be run."""
    known = run.candidates.count()
    if born := candidates[known:]:
        check_births(configuration, born, run.dataset.columns)
        store_candidates(run, born, known)
    return {candidate.key: position for position, candidate in enumerate(candidates)}


def forget_births(run: Run, candidates: Sequence[EngineCandidate]) -> None:
    """After a replay that decided differently: those from the first other one on were never
    born."""
    stored = run.candidates.order_by("position").values_list("key", flat=True)
    same = takewhile(lambda pair: pair[0] == pair[1].key, zip(stored, candidates, strict=False))
    run.candidates.filter(position__gte=sum(1 for _ in same)).delete()
