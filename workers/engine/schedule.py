"""Which trials may be worked on at once: all that fit, or the documented two-level split."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import groupby
from typing import NamedTuple

from workers.engine.chunks import Allocation, SlotPlan, Work, allocate, share_slots, split
from workers.engine.records import Trial
from workers.engine.session import Session
from workers.engine.spec.configuration import Configuration

UNKNOWN_ENDPOINT_SLOTS = 20  # calls at once where nobody says what an endpoint allows


class Room(NamedTuple):
    """What a run may take on now."""

    chunks: int
    chunk_size: int
    slots: int  # calls at once


def plan_chunks(
    session: Session, configuration: Configuration, cases: int, open_keys: set[str], room: Room
) -> list[tuple[Trial, ...]]:
    """The next chunks. `open_keys` are the candidates that still have trials under way."""
    if configuration.limits.schedule == "two_level":
        return plan_by_candidate(session, configuration, cases, open_keys, room)
    return split(session.plan(room.chunk_size * room.chunks), room.chunk_size)


def plan_by_candidate(
    session: Session, configuration: Configuration, cases: int, open_keys: set[str], room: Room
) -> list[tuple[Trial, ...]]:
    """Whole candidates, as many at once as the split gives; a slot left over stays empty. Of a
    strategy that learns, what its round has for them, and the split is made for each round."""
    size = min(room.chunk_size, configuration.limits.batch_size)
    if session.learns:
        session.open_round()
        at_once = split_slots(configuration, cases, room.slots, session.work).candidates
        free = count_free(configuration, at_once, session.begun, len(open_keys))
        trials = session.plan_of(open_keys, free)
        groups = [list(group) for _, group in groupby(trials, key=lambda trial: trial.candidate)]
        return [chunk for group in groups for chunk in split(group, size)]
    each = cases * configuration.repeats
    at_once = split_slots(configuration, cases, room.slots).candidates
    free = count_free(configuration, at_once, session.asked // each, len(open_keys))
    chunks: list[tuple[Trial, ...]] = []
    for _ in range(free):
        chunks += split(session.plan(each), size)
    return chunks


def count_free(configuration: Configuration, at_once: int, begun: int, is_open: int) -> int:
    """How many candidates may begin now, besides those that are open. A batch of candidates ends
    before the next one begins."""
    free = max(0, at_once - is_open)
    batch = configuration.limits.candidate_batch_size
    if batch is None:
        return free
    if begun % batch == 0 and is_open:
        return 0
    return min(free, batch - begun % batch)


def split_slots(
    configuration: Configuration, cases: int, slots: int, work: Work | None = None
) -> Allocation:
    """Candidates at once x cases of each at once, as the schedule two_level plans them. `work` is
    the round of a strategy that decides in rounds: there the cases of a round are the batch."""
    limits = configuration.limits
    batch = work.cases if work else min(limits.batch_size, cases)
    most = limits.max_concurrent_candidates
    each = limits.max_concurrent_per_candidate or (max(1, slots // most) if most else slots)
    found = allocate(slots, min(batch, each))
    return found._replace(candidates=min(found.candidates, most or found.candidates))


def calls_per_candidate(configuration: Configuration, cases: int, slots: int) -> int | None:
    """The most calls at once of one candidate. None: as many as the run may make."""
    if configuration.limits.schedule != "two_level":
        return None
    # A round brings no more cases of a candidate than the split gives it.
    in_rounds = configuration.first_round(cases) is not None
    work = Work(1, slots, slots) if in_rounds else None
    each = split_slots(configuration, cases, slots, work).cases_per_candidate
    return each if each < slots else None


def slots_allowed(configuration: Configuration, endpoints: Mapping[str, int]) -> int:
    """Calls at once: the run's own limit, or less where its models allow less together.
    `endpoints` gives the calls at once that each endpoint allows for each of its models."""
    models = {(model.endpoint, model.model) for model in configuration.every_model}
    known = [endpoints[endpoint] for endpoint, _ in models if endpoint in endpoints]
    own = configuration.limits.max_concurrent
    if not known:
        return UNKNOWN_ENDPOINT_SLOTS if own is None else own
    return sum(known) if own is None else min(own, sum(known))


def plan_slots(configuration: Configuration, cases: int, slots: int) -> SlotPlan:
    """What a run does with its slots when it starts."""
    first = configuration.first_round(cases)
    if configuration.limits.schedule == "two_level":
        return share_round(configuration, cases, slots, first)
    if first is not None:
        return share_slots(slots, first)
    trials = configuration.candidates * cases * configuration.repeats
    # Case by case: all candidates of a case, then the next case.
    candidates = min(configuration.candidates, slots)
    rows = min(slots // candidates, cases * configuration.repeats)
    return share_slots(slots, Work(candidates, rows, trials))


def share_by(configuration: Configuration, cases: int) -> Callable[[int, Work], SlotPlan]:
    """How the rounds of a run share its slots."""
    if configuration.limits.schedule == "two_level":
        return partial(share_round, configuration, cases)
    return share_slots


def share_round(
    configuration: Configuration, cases: int, slots: int, work: Work | None = None
) -> SlotPlan:
    """The split of the schedule two_level, which lends to nobody what it leaves over."""
    found = split_slots(configuration, cases, slots, work)
    there = work.candidates if work else configuration.candidates
    return SlotPlan(slots, found._replace(candidates=max(1, min(found.candidates, there))), lent=0)
