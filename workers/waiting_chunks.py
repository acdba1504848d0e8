"""Knows what is left of the chunks at work, and which of them wait only for models that fail."""

from collections import Counter
from collections.abc import Collection

from runs.services.chunks.leases import Lease
from workers.engine.records import Score, Slice

Place = tuple[str, str]  # endpoint and model


class ChunkRests:
    def __init__(self) -> None:
        # Trials by candidate, of each lease: this process may hold the next one of a chunk before
        # it has ended with a lost one.
        self._left: dict[tuple[int, int], Counter[str]] = {}

    def open(self, lease: Lease) -> None:
        work = lease.work
        left = Counter(trial.candidate for trial in work.trials if trial.position not in work.done)
        self._left[place_of(lease)] = left

    def grow(self, lease: Lease, work: Slice) -> None:
        self._left[place_of(lease)].update(trial.candidate for trial in work.trials)

    def take(self, lease: Lease, score: Score) -> None:
        self._left[place_of(lease)][score.trial.candidate] -= 1

    def close(self, lease: Lease) -> None:
        self._left.pop(place_of(lease), None)

    def waits_only_for(self, lease: Lease, places: Collection[Place]) -> bool:
        left = self._left.get(place_of(lease), Counter())
        waiting = [models_of(lease, candidate) for candidate, count in left.items() if count]
        return bool(waiting) and all(not models.isdisjoint(places) for models in waiting)


def place_of(lease: Lease) -> tuple[int, int]:
    return lease.chunk_id, lease.token


def models_of(lease: Lease, candidate: str) -> frozenset[Place]:
    """The models that a candidate calls. It waits when one of them fails."""
    called = lease.parts.configuration.models_called(lease.parts.candidates[candidate].document)
    return frozenset((model["endpoint"], model["model"]) for model in called)
