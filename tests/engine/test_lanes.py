"""The registry of lanes."""

from workers.engine.lanes import LANES


def test_every_lane_is_there_and_says_what_it_is() -> None:
    assert list(LANES) == ["async", "thread", "process", "batch"]
    assert all(lane.__doc__ for lane in LANES.values())
