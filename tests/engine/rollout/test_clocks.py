"""Actions that are late: a limit that fires, an overage that is spent, and what hangs."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.engine.rollout.odd_players import Hanger, Late
from tests.engine.rollout.playing import plan_of, player, steps_of
from workers.engine.errors import TimedOut
from workers.engine.lanes import ProcessLane
from workers.engine.playing.game import play
from workers.engine.playing.plans import Clocks, Episode, Failure

IN_TIME = 0.2
LIMIT = Clocks(action_seconds=IN_TIME)
# In another process no clock is held. What is in time takes a millisecond there.
LONG_LIMIT = Clocks(action_seconds=10.0)


def only(found: Sequence[Episode | Failure]) -> Episode:
    (one,) = found
    assert isinstance(one, Episode), one
    return one


@pytest.mark.usefixtures("held_time")
@pytest.mark.parametrize("lane", ["inline", "process"])
def test_an_action_that_hangs_is_interrupted_and_nothing_is_done(lane: str) -> None:
    """Milliseconds are no seconds, and the limit interrupts instead of being looked at after."""
    plan = plan_of(player(Hanger(), lane), steps=5, episodes=1, clocks=LIMIT, at_once=2)
    found = only(play(plan))
    assert found.timeouts == (1, 0, 0, 0)
    assert found.steps == 5
    steps = steps_of(found)
    assert steps[1][1] == [0, 1, 1, 1]
    assert steps[2][1] == [1, 1, 1, 1]


@pytest.mark.late
async def test_a_thread_that_hangs_is_left_alone_and_its_process_replaced() -> None:
    lane = ProcessLane(60, size=1)
    try:
        plan = plan_of(
            player(Hanger(), "thread"), steps=4, episodes=1, clocks=LONG_LIMIT, at_once=4
        )
        found = only(await lane.call(play, plan))
        assert found.timeouts == (3, 0, 0, 0)  # it never came back
        assert not lane.pids
        again = plan_of(player(Hanger(at=99), "thread"), steps=4, episodes=1, at_once=4)
        assert only(await lane.call(play, again)).timeouts == (0, 0, 0, 0)
        assert len(lane.pids) == 1
    finally:
        await lane.close()


async def test_what_no_signal_reaches_ends_with_the_time_of_the_episode() -> None:
    lane = ProcessLane(60, size=1)
    try:
        plan = plan_of(player(Hanger(in_c=True)), steps=4, episodes=1, clocks=LIMIT)
        with pytest.raises(TimedOut):
            await lane.call(play, plan, timeout_seconds=2)
    finally:
        await lane.close()
    await asyncio.sleep(0)


@pytest.mark.usefixtures("held_time")
def test_late_actions_count_while_the_overage_lasts_then_the_agent_is_out() -> None:
    clocks = Clocks(action_seconds=IN_TIME, overage_seconds=2.5)
    plan = plan_of(player(Late(seconds=IN_TIME + 1)), steps=6, episodes=1, clocks=clocks)
    found = only(play(plan))
    acted = [step[1][0] for step in steps_of(found)]
    assert acted[:2] == [1, 1]  # 1 s late each
    assert acted[3:] == [0, 0, 0]
    assert found.out_at[0] == 2
    assert found.out_at[1:] == (None, None, None)
    assert found.timeouts == (4, 0, 0, 0)


@pytest.mark.usefixtures("held_time")
def test_without_an_overage_a_late_agent_may_try_again() -> None:
    plan = plan_of(player(Late(seconds=600)), steps=2, episodes=1, clocks=LIMIT)
    found = only(play(plan))
    assert found.timeouts == (2, 0, 0, 0)
    assert found.out_at == (None,) * 4


@pytest.mark.usefixtures("held_time")
@pytest.mark.parametrize(("overage", "timeouts", "out_at"), [(None, 3, None), (1.4, 2, 1)])
def test_the_time_of_a_batch_is_that_of_each_of_its_agents(
    overage: float | None, timeouts: int, out_at: int | None
) -> None:
    clocks = Clocks(action_seconds=0.2, overage_seconds=overage)
    plan = plan_of(player(Late(seconds=1.0), "batch"), steps=3, episodes=1, clocks=clocks)
    found = only(play(plan))
    assert found.timeouts == (timeouts,) * 4
    assert found.out_at == (out_at,) * 4
