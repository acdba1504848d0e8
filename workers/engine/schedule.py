"""Which trials may be worked on at once: all that fit, or the documented two-level split."""

from typing import NamedTuple

from workers.engine.chunks import Allocation, allocate, split
from workers.engine.records import Trial
from workers.engine.session import Session
from workers.engine.spec import Configuration


class Room(NamedTuple):
    """What a run may take on now."""

    chunks: int
    chunk_size: int


def plan_chunks(
    session: Session, configuration: Configuration, cases: int, open_keys: set[str], room: Room
) -> list[tuple[Trial, ...]]:
    """The next chunks. `open_keys` are the candidates that still have trials under way."""
    if configuration.limits.schedule == "two_level" and configuration.kind == "evaluate":
        return plan_by_candidate(session, configuration, cases, open_keys, room)
    return split(session.plan(room.chunk_size * room.chunks), room.chunk_size)


def plan_by_candidate(
    session: Session, configuration: Configuration, cases: int, open_keys: set[str], room: Room
) -> list[tuple[Trial, ...]]:
    """Whole candidates, as many at once as the split gives; a slot left over stays empty."""
    at_once = split_slots(configuration, cases).candidates
    chunks: list[tuple[Trial, ...]] = []
    for _ in range(at_once - len(open_keys)):
        chunks += split(session.plan(cases * configuration.repeats), room.chunk_size)
    return chunks


def split_slots(configuration: Configuration, cases: int) -> Allocation:
    """Candidates at once x cases of each at once."""
    limits = configuration.limits
    found = allocate(limits.max_concurrent, min(limits.batch_size, cases))
    most = limits.max_concurrent_candidates or found.candidates
    return found._replace(candidates=min(found.candidates, most))
