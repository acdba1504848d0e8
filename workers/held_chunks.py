"""The chunks that this process works on: each with its lease, its task and what is left of it."""

import asyncio
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from runs.services.chunks.leases import Lease, RunParts
from workers.engine.records import Score, Slice

Place = tuple[str, str]  # endpoint and model


@dataclass(eq=False)
class HeldChunk:
    lease: Lease
    left: Counter[str]  # trials without a score, by candidate
    lost: asyncio.Event = field(default_factory=asyncio.Event)  # set: stop working on it
    task: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, lease: Lease) -> "HeldChunk":
        work = lease.work
        left = Counter(trial.candidate for trial in work.trials if trial.position not in work.done)
        return cls(lease, left)

    @property
    def run_id(self) -> int:
        return self.lease.parts.run_id

    @property
    def chunk_id(self) -> int:
        return self.lease.chunk_id

    def grow(self, work: Slice) -> None:
        self.left.update(trial.candidate for trial in work.trials)

    def take(self, score: Score) -> None:
        self.left[score.trial.candidate] -= 1

    def waits_only_for(self, places: Collection[Place]) -> bool:
        """A trial without an answer waits for a model of its candidate; one with an answer, for a
        judge."""
        answered = Counter(trial.candidate for trial in self.lease.work.unjudged)
        lease, left = self.lease, self.left - answered
        waiting = [models_called(lease, candidate) for candidate, n in left.items() if n]
        if answered:
            waiting.append(judges_of(lease))
        return bool(waiting) and all(not models.isdisjoint(places) for models in waiting)


class HeldChunks:
    def __init__(self) -> None:
        self._held: dict[int, HeldChunk] = {}  # those whose lease is ours, as far as we know
        self._working: set[HeldChunk] = set()  # and those whose work has not ended yet

    def __len__(self) -> int:
        return len(self._held)

    def put(self, chunk: HeldChunk) -> HeldChunk | None:
        """Hold it, and give the one back that had an earlier lease of the same chunk."""
        earlier = self._held.get(chunk.chunk_id)
        self._held[chunk.chunk_id] = chunk
        return earlier

    def holds(self, chunk: HeldChunk) -> bool:
        """What comes late for a lease that is lost must not count for the next one of its chunk,
        which this process may hold as well: the chunk would seem to be finished."""
        return self._held.get(chunk.chunk_id) is chunk

    def drop(self, chunk: HeldChunk) -> None:
        if self.holds(chunk):
            del self._held[chunk.chunk_id]

    def held(self) -> list[HeldChunk]:
        return list(self._held.values())

    def begin(self, chunk: HeldChunk, task: asyncio.Task[None]) -> None:
        chunk.task = task
        self._working.add(chunk)

    def end(self, chunk: HeldChunk) -> None:
        self._working.discard(chunk)

    def working(self, run_id: int | None = None) -> list[HeldChunk]:
        return [one for one in self._working if run_id is None or one.run_id == run_id]

    def runs(self) -> list[RunParts]:
        return list({one.run_id: one.lease.parts for one in self._working}.values())


def models_of(lease: Lease, candidate: str) -> frozenset[Place]:
    """The models that its trials call, judges among them. They wait when one of them fails."""
    return models_called(lease, candidate) | judges_of(lease)


def models_called(lease: Lease, candidate: str) -> frozenset[Place]:
    document = lease.parts.candidates[candidate].document
    called = lease.parts.configuration.models_called(document)
    return frozenset((model["endpoint"], model["model"]) for model in called)


def judges_of(lease: Lease) -> frozenset[Place]:
    judges = lease.parts.configuration.judges
    return frozenset((model.endpoint, model.model) for _, model in judges)


def count_called(lease: Lease) -> int:
    """In how many ways the candidates of its run call models. Of those to be born it is the models
    that the configuration names."""
    configuration = lease.parts.configuration
    if configuration.grows:
        return len(configuration.called)
    return len({models_of(lease, candidate) for candidate in lease.parts.candidates})
