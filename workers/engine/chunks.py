"""Between strategy and workers: cuts trials into chunks, and shares slots between candidates."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")

CHUNKS_PER_ROUND = 2  # of the slots' worth of trials: enough for several workers to share it
SMALLEST_CHUNK = 5  # trials; below this the message costs more than the calls it carries
CHUNK_SECONDS = 0.8  # of all slots' work: a few messages a second cost next to nothing
LARGEST_FAST_CHUNK = 500  # trials of calls that take milliseconds: all of them wait in memory
LARGEST_CHUNK = 100  # trials; above this a lost worker leaves too much to be done again
AHEAD_SECONDS = 6.0  # of all slots' work: more is planned when answers are written, once a second
CHUNKS_PER_WORKER = 2  # one at work, one to go on with: every worker takes part
FIRST_CHUNKS = 20  # while the latency is unknown, and with it the best size of a chunk
MOST_CHUNKS = 64  # of one run; bounds what a run takes of a queue


class Allocation(NamedTuple):
    """How many candidates run at once, and how many cases of each."""

    candidates: int
    cases_per_candidate: int


def allocate(max_concurrent: int, batch_size: int) -> Allocation:
    """Split the slots in two levels: finish one candidate quickly before starting many slowly."""
    slots = max(max_concurrent, 1)
    if batch_size <= 0:
        return Allocation(candidates=slots, cases_per_candidate=1)
    cases = min(slots, batch_size)
    return Allocation(candidates=slots // cases, cases_per_candidate=cases)


class Work(NamedTuple):
    """What could be done at once, had it slots enough."""

    candidates: int
    cases: int  # of one candidate
    trials: int


class SlotPlan(NamedTuple):
    """How the slots are used: the split, and more trials that are lent what it leaves over."""

    slots: int
    split: Allocation
    lent: int

    @property
    def in_split(self) -> int:
        return self.split.candidates * self.split.cases_per_candidate

    @property
    def empty(self) -> int:
        return self.slots - self.in_split - self.lent


def share_slots(max_concurrent: int, work: Work) -> SlotPlan:
    """The split of real work: never more candidates, cases or trials than there are."""
    slots = max(max_concurrent, 1)
    found = allocate(slots, min(work.cases, work.trials))
    most = max(1, min(work.candidates, work.trials // found.cases_per_candidate))
    split = found._replace(candidates=min(found.candidates, most))
    used = split.candidates * split.cases_per_candidate
    return SlotPlan(slots, split, lent=max(0, min(slots, work.trials) - used))


def chunk_size(max_concurrent: int, latency_seconds: float | None = None) -> int:
    """The number of trials that one message stands for.

    Once the latency is known, fast calls come in larger chunks. A large one costs nothing when its
    worker dies: what was answered is stored, and all workers share the slots trial by trial.
    """
    share = -(-max_concurrent // CHUNKS_PER_ROUND)
    size = min(max(share, SMALLEST_CHUNK), LARGEST_CHUNK)
    if not latency_seconds:
        return size
    work = max_concurrent / latency_seconds * CHUNK_SECONDS
    return int(min(max(size, work), LARGEST_FAST_CHUNK))


def chunks_ahead(max_concurrent: int, size: int, slot_seconds: float | None, workers: int) -> int:
    """The chunks of a run that wait or work at once.

    Enough to keep every slot busy until more are planned, and no more: a chunk in work holds a
    thread, and a run with chunks on all threads keeps others from the slots that are theirs.
    `slot_seconds` is for how long a trial holds a slot: 0 if its answer is cached, None if unknown.
    """
    if slot_seconds is None:
        return FIRST_CHUNKS
    if not slot_seconds:
        return MOST_CHUNKS
    trials = max_concurrent * (1 + AHEAD_SECONDS / slot_seconds)  # those in flight, and the next
    return min(max(-(-int(trials) // size), CHUNKS_PER_WORKER * workers), MOST_CHUNKS)


def split(trials: Sequence[T], size: int) -> list[tuple[T, ...]]:
    """Cut the trials into chunks of `size`, in order; the last one may be shorter."""
    if size < 1:
        raise ValueError(f"A chunk holds at least 1 trial, not {size}.")
    return [tuple(trials[start : start + size]) for start in range(0, len(trials), size)]
