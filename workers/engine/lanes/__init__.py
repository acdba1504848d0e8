"""Lanes: where work runs. What computes goes to another process, not onto the event loop.

The lanes share no protocol, since each takes something else: a coroutine, a plain function, a
function that another process can import, one item of many. A type that allows all of these would
let the wrong one through, and whoever picks a lane by its name must know what to give it anyway.
"""

from typing import Any

from workers.engine.lanes.async_lane import AsyncLane
from workers.engine.lanes.batch_lane import BatchLane
from workers.engine.lanes.process_lane import ProcessLane, ProcessShare
from workers.engine.lanes.thread_lane import ThreadLane

AnyLane = AsyncLane | ThreadLane | ProcessLane | BatchLane[Any, Any]

LANES: dict[str, type[AnyLane]] = {
    "async": AsyncLane,  # a coroutine that waits for a network, under a deadline
    "thread": ThreadLane,  # a plain function that waits; it cannot be ended, only left alone
    "process": ProcessLane,  # a plain function that computes; it is killed when it is late
    "batch": BatchLane,  # one item of an async function that takes many, such as embeddings
}

__all__ = [
    "LANES",
    "AnyLane",
    "AsyncLane",
    "BatchLane",
    "ProcessLane",
    "ProcessShare",
    "ThreadLane",
]
