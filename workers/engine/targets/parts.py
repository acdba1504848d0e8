"""What targets need besides candidate and case."""

from dataclasses import dataclass, field

from workers.engine.lanes import ProcessLane, ProcessShare, ThreadLane
from workers.engine.targets.slots import Slots


def share_of_its_own() -> ProcessShare:
    return ProcessLane().share("")


@dataclass(frozen=True)
class TargetParts:
    timeout_seconds: float = 60.0  # that an agent may be silent: neither call nor answer
    threads: ThreadLane = field(default_factory=ThreadLane)  # for agents that are not async
    # For what computes. Nobody closes a lane that was made here: whoever works with it gives one.
    processes: ProcessShare = field(default_factory=share_of_its_own)
    slots: Slots = field(default_factory=Slots)  # of the run, for work that is no call
