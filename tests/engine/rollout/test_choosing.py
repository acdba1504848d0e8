"""`auto`: which lane it takes, and what it says about it."""

import pytest

from workers.engine.kinds.rollout.choosing import choose
from workers.engine.playing.measuring import Facts

WAITS = Facts(16, 0.020, 0.0001, None, 0.0001)
COMPUTES = Facts(16, 0.002, 0.002, None, 0.0001)
BATCHES = Facts(16, 0.0002, 0.0002, 0.00002, 0.0001)
QUICK = Facts(16, 0.00001, 0.00001, None, 0.0001)
ALONE = Facts(1, 0.020, 0.0001, None, 0.0001)
NO_GAIN = Facts(16, 0.0002, 0.0002, 0.00019, 0.0001)


@pytest.mark.parametrize(
    ("facts", "spare", "lane", "inside", "told"),
    [
        pytest.param(WAITS, 1, "thread", "thread", "waits 100%", id="waits"),
        pytest.param(COMPUTES, 1, "process", "inline", "whole episodes", id="computes, all busy"),
        pytest.param(COMPUTES, 4, "process", "process", "left over", id="computes, slots free"),
        pytest.param(QUICK, 4, "process", "inline", "whole episodes", id="too quick to send"),
        pytest.param(BATCHES, 4, "batch", "batch", "10 times", id="batches"),
        pytest.param(NO_GAIN, 1, "process", "inline", "whole", id="a batch gains nothing"),
        pytest.param(ALONE, 4, "process", "inline", "whole episodes", id="one agent"),
    ],
)
def test_auto(facts: Facts, spare: int, lane: str, inside: str, told: str) -> None:
    found = choose("auto", facts, spare=spare, by_agents=True)
    assert (found.lane, found.inside) == (lane, inside)
    assert told in found.reason
    assert not found.warning


@pytest.mark.parametrize(
    ("wanted", "facts", "inside", "told"),
    [
        pytest.param("batch", COMPUTES, "inline", "no step_batch", id="no batch there"),
        pytest.param("thread", COMPUTES, "thread", "share a core", id="threads that compute"),
        pytest.param("thread", WAITS, "thread", "", id="threads that wait"),
        pytest.param("process", QUICK, "process", "lose what they gain", id="exchange eats all"),
        pytest.param("process", COMPUTES, "process", "", id="processes that compute"),
    ],
)
def test_a_lane_that_was_named_is_used_and_warned_of(
    wanted: str, facts: Facts, inside: str, told: str
) -> None:
    found = choose(wanted, facts, spare=4, by_agents=True)
    assert found.inside == inside
    assert told in found.warning
    assert bool(found.warning) == bool(told)


def test_a_lane_that_cannot_be_used_is_not_said_to_be_chosen() -> None:
    found = choose("batch", COMPUTES, spare=4, by_agents=True)
    assert (found.lane, found.inside) == ("process", "inline")
    assert found.reason == "the configuration chose batch, which needs a step_batch"
    assert choose("batch", BATCHES, spare=4, by_agents=True).reason == "chosen by the configuration"


@pytest.mark.parametrize("wanted", ["auto", "thread", "process"])
def test_agents_can_be_switched_off(wanted: str) -> None:
    for facts in (WAITS, COMPUTES):
        assert choose(wanted, facts, spare=4, by_agents=False).inside == "inline"
