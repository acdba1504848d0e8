"""Which trials may be worked on at once: all that fit, or the documented two-level split."""

from collections.abc import Mapping
from typing import NamedTuple

from workers.engine.chunks import Allocation, SlotPlan, Work, allocate, share_slots, split
from workers.engine.records import Trial
from workers.engine.session import Session
from workers.engine.spec.configuration import Configuration


class Room(NamedTuple):
    """What a run may take on now."""

    chunks: int
    chunk_size: int


def plan_chunks(
    session: Session, configuration: Configuration, cases: int, open_keys: set[str], room: Room
) -> list[tuple[Trial, ...]]:
    """The next chunks. `open_keys` are the candidates that still have trials under way."""
    if configuration.limits.schedule == "two_level" and not configuration.learns:
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
    """Candidates at once x cases of each at once, as the schedule two_level plans them."""
    limits = configuration.limits
    found = allocate(limits.max_concurrent, min(limits.batch_size, cases))
    most = limits.max_concurrent_candidates or found.candidates
    return found._replace(candidates=min(found.candidates, most))


def slots_allowed(configuration: Configuration, endpoints: Mapping[str, int]) -> int:
    """Calls at once: the run's own limit, or less where its models allow less together.
    `endpoints` gives the calls at once that each endpoint allows for each of its models."""
    models = {(model.endpoint, model.model) for model in configuration.called}
    known = [endpoints[endpoint] for endpoint, _ in models if endpoint in endpoints]
    own = configuration.limits.max_concurrent
    return min(own, sum(known)) if known else own


def plan_slots(configuration: Configuration, cases: int, slots: int) -> SlotPlan:
    """What a run does with its slots when it starts."""
    if (first := configuration.first_round(cases)) is not None:
        return share_slots(slots, first)
    trials = configuration.candidates * cases * configuration.repeats
    if configuration.limits.schedule == "two_level":
        most = configuration.limits.max_concurrent_candidates or configuration.candidates
        batch = min(configuration.limits.batch_size, cases)
        work = Work(min(most, configuration.candidates), batch, trials)
        return share_slots(slots, work)._replace(lent=0)  # it leaves them empty
    # Case by case: all candidates of a case, then the next case.
    candidates = min(configuration.candidates, slots)
    rows = min(slots // candidates, cases * configuration.repeats)
    return share_slots(slots, Work(candidates, rows, trials))
