"""Lanes: where work runs. Async, for calls that wait on a network; threads, for plain functions that
wait; processes, for functions that compute."""

from workers.engine.lanes.async_lane import AsyncLane
from workers.engine.lanes.process_lane import ProcessLane
from workers.engine.lanes.thread_lane import ThreadLane

__all__ = ["AsyncLane", "ProcessLane", "ThreadLane"]
