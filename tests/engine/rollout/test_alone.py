"""One agent is played in a loop of its own: all of it is as in the loop for many."""

from typing import Any

import pytest

from tests.engine.rollout.odd_players import Broken, Hanger, Late
from tests.engine.rollout.playing import plan_of, player, record_of, steps_of
from workers.engine.playing.game import play
from workers.engine.playing.plans import Clocks, Episode, Failure, GamePlan
from workers.engine.policies import POLICIES, Policy, Seat

LONG = 9_500  # steps: a replay of one agent of the grid world has room for fewer


def plan_alone(policy: Policy, lane: str, mission: str, steps: int) -> GamePlan:
    return plan_of(player(policy, lane), mission=mission, agents=1, steps=steps)


@pytest.mark.parametrize(
    ("policy", "mission", "steps"),
    [
        pytest.param(POLICIES["random"](), "grid/harvest", 40, id="a picture"),
        pytest.param(POLICIES["balance"](), "gymnasium/CartPole-v1", 60, id="numbers"),
        pytest.param(POLICIES["random"](), "gymnasium/Taxi-v4", 60, id="no arrays"),
        pytest.param(
            POLICIES["random"](), "gymnasium/Pendulum-v1", 20, id="actions are no numbers"
        ),
        pytest.param(POLICIES["still"](), "grid/harvest", LONG, id="the replay is cut"),
    ],
)
def test_alone_as_among_others(policy: Policy, mission: str, steps: int) -> None:
    """In a thread, agents are played by the loop for many."""
    alone = play(plan_alone(policy, "inline", mission, steps))
    others = play(plan_alone(policy, "thread", mission, steps))
    for one, other in zip(alone, others, strict=True):
        assert isinstance(one, Episode)
        assert isinstance(other, Episode)
        assert (one.digest, one.steps, one.is_over) == (other.digest, other.steps, other.is_over)
        assert record_of(one) == record_of(other)
        assert one.policy_seconds > 0
        assert one.world_seconds > 0


class Tires(Policy):
    """Fails in its fourth action."""

    def reset(self, seat: Seat) -> list[int]:
        return [3]

    def step(self, observation: Any, state: list[int]) -> int:
        state[0] -= 1
        if state[0] < 0:
            raise RuntimeError("enough")
        return 1


def test_what_fails_is_told_with_its_step() -> None:
    found, *others = play(plan_alone(Tires(), "inline", "grid/harvest", 10))
    assert found == Failure("policy", "Agent 0: RuntimeError: enough", 3)
    assert others == [found]
    broken = plan_alone(POLICIES["still"](), "inline", "grid/harvest", 10)
    (first, _) = play(broken._replace(environment=Broken()))
    assert isinstance(first, Failure)
    assert (first.cause, first.step) == ("environment", 2)


@pytest.mark.usefixtures("held_time")
def test_an_action_that_hangs_is_interrupted_and_the_next_one_counts() -> None:
    plan = plan_alone(Hanger(), "inline", "grid/harvest", 5)
    (found, _) = play(plan._replace(clocks=Clocks(action_seconds=0.2)))
    assert isinstance(found, Episode)
    assert found.timeouts == (1,)
    assert [step[1] for step in steps_of(found)] == [[1], [0], [1], [1], [1]]


@pytest.mark.usefixtures("held_time")
def test_an_agent_whose_overage_is_spent_is_out() -> None:
    plan = plan_alone(Late(seconds=3.0), "inline", "grid/harvest", 6)
    clocks = Clocks(action_seconds=2.0, overage_seconds=2.5)
    found = play(plan._replace(clocks=clocks, episodes=plan.episodes[:1]))[0]
    assert isinstance(found, Episode)
    assert (found.steps, found.out_at, found.timeouts) == (6, (2,), (4,))
    assert [step[1] for step in steps_of(found)] == [[1], [1], [0], [0], [0], [0]]
