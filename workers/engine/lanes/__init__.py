"""Lanes: where a call runs. This far: async, for calls that wait on a network."""

from workers.engine.lanes.async_lane import AsyncLane

__all__ = ["AsyncLane"]
