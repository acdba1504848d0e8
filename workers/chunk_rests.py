"""Knows what is left of the chunks at work, and which of them wait only for models that fail."""

from collections import Counter
from collections.abc import Collection

from runs.services.leases import Lease
from workers.engine.records import Score

Place = tuple[str, str]  # endpoint and model


class ChunkRests:
    def __init__(self) -> None:
        self._left: dict[int, Counter[str]] = {}  # trials by candidate

    def open(self, lease: Lease) -> None:
        work = lease.work
        left = Counter(trial.candidate for trial in work.trials if trial.position not in work.done)
        self._left[lease.chunk_id] = left

    def take(self, lease: Lease, score: Score) -> None:
        self._left[lease.chunk_id][score.trial.candidate] -= 1

    def close(self, lease: Lease) -> None:
        self._left.pop(lease.chunk_id, None)

    def waits_only_for(self, lease: Lease, places: Collection[Place]) -> bool:
        left = self._left.get(lease.chunk_id, Counter())
        needed = {model_of(lease, candidate) for candidate, count in left.items() if count}
        return bool(needed) and needed <= set(places)


def model_of(lease: Lease, candidate: str) -> Place:
    """The model that a candidate calls."""
    model = lease.parts.candidates[candidate].document["model"]
    return model["endpoint"], model["model"]
