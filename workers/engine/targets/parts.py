"""What targets need besides candidate and case."""

from dataclasses import dataclass, field

from workers.engine.lanes import ThreadLane


@dataclass(frozen=True)
class TargetParts:
    timeout_seconds: float = 60.0  # that an agent may be silent: neither call nor answer
    threads: ThreadLane = field(default_factory=ThreadLane)  # for agents that are not async
