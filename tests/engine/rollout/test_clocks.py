"""Late actions, agents in a loop of their own, and how many episodes travel together."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from tests.engine.rollout import odd_players as odd
from tests.engine.rollout.odd_players import Broken, Hanger, Late
from tests.engine.rollout.playing import (
    install,
    plan_of,
    play,
    played,
    record_of,
    report_for,
    rollout,
    steps_of,
)
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import row, table
from workers.engine.errors import ConfigurationError, TimedOut
from workers.engine.kinds import read_configuration
from workers.engine.kinds.rollout.choosing import Choice
from workers.engine.kinds.rollout.groups import MOST_BYTES, size_of
from workers.engine.kinds.rollout.rules import rules_of
from workers.engine.kinds.rollout.target import Known
from workers.engine.playing import agent_processes
from workers.engine.playing.plans import BATCH, INLINE, PROCESS, Clocks, Episode, Failure
from workers.engine.policies import POLICIES, Policy, Seat
from workers.engine.records import Case, Score
from workers.engine.session import Session

HANGS_SECONDS = 100.0  # and more: a policy that is to be interrupted


@pytest.fixture
def held_time():
    """Only policies that sleep take time, and just as much as they say, however busy the machine
    is. Those that hang really do, until they are interrupted."""
    now, real_sleep = 1000.0, time.sleep

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        if seconds >= HANGS_SECONDS:
            real_sleep(seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "perf_counter", lambda: now)
        patch.setattr(odd, "time", SimpleNamespace(sleep=sleep))
        patch.setattr(agent_processes, "GRACE_SECONDS", PATIENCE_SECONDS)
        yield


IN_TIME = 0.2
LIMIT = Clocks(action_seconds=IN_TIME)
# In another process no clock is held. What is in time takes a millisecond there.
LONG_LIMIT = Clocks(action_seconds=10.0)


def only(found):
    (one,) = found
    assert isinstance(one, Episode), one
    return one


@pytest.mark.usefixtures("held_time")
@table("inline", "process")
def test_an_action_that_hangs_is_interrupted_and_nothing_is_done(lane):
    """Milliseconds are no seconds, and the limit interrupts instead of being looked at after."""
    plan = plan_of(Hanger(), lane, steps=5, episodes=1, clocks=LIMIT, at_once=2)
    found = only(play(plan))
    assert (found.timeouts, found.steps) == ((1, 0, 0, 0), 5)
    steps = steps_of(found)
    assert (steps[1][1], steps[2][1]) == ([0, 1, 1, 1], [1, 1, 1, 1])


@pytest.mark.late
async def test_a_thread_that_hangs_is_left_alone_and_its_process_replaced(lane):
    plan = plan_of(Hanger(), "thread", steps=4, episodes=1, clocks=LONG_LIMIT, at_once=4)
    assert only(await lane.call(play, plan)).timeouts == (3, 0, 0, 0)  # it never came back
    assert not lane.pids
    again = plan_of(Hanger(at=99), "thread", steps=4, episodes=1, at_once=4)
    assert only(await lane.call(play, again)).timeouts == (0, 0, 0, 0)
    assert len(lane.pids) == 1


async def test_what_no_signal_reaches_ends_with_the_time_of_the_episode(lane):
    plan = plan_of(Hanger(in_c=True), steps=4, episodes=1, clocks=LIMIT)
    with pytest.raises(TimedOut):
        await lane.call(play, plan, timeout_seconds=2)


@pytest.mark.usefixtures("held_time")
def test_late_actions_count_while_the_overage_lasts_then_the_agent_is_out():
    clocks = Clocks(action_seconds=IN_TIME, overage_seconds=2.5)
    plan = plan_of(Late(seconds=IN_TIME + 1), steps=6, episodes=1, clocks=clocks)
    found = only(play(plan))
    acted = [step[1][0] for step in steps_of(found)]
    assert acted[:2] == [1, 1]  # 1 s late each
    assert acted[3:] == [0, 0, 0]
    assert (found.out_at[0], found.out_at[1:]) == (2, (None, None, None))
    assert found.timeouts == (4, 0, 0, 0)
    # Without an overage a late agent may try again.
    plan = plan_of(Late(seconds=600), steps=2, episodes=1, clocks=LIMIT)
    found = only(play(plan))
    assert (found.timeouts, found.out_at) == ((2, 0, 0, 0), (None,) * 4)


@pytest.mark.usefixtures("held_time")
@table((None, 3, None), (1.4, 2, 1))
def test_the_time_of_a_batch_is_that_of_each_of_its_agents(overage, timeouts, out_at):
    clocks = Clocks(action_seconds=0.2, overage_seconds=overage)
    plan = plan_of(Late(seconds=1.0), "batch", steps=3, episodes=1, clocks=clocks)
    found = only(play(plan))
    assert (found.timeouts, found.out_at) == ((timeouts,) * 4, (out_at,) * 4)


LONG = 9_500  # steps: a replay of one agent of the grid world has room for fewer


def plan_alone(policy, lane, mission, steps):
    return plan_of(policy, lane, mission=mission, agents=1, steps=steps)


@table(
    row(POLICIES["random"](), "grid/harvest", 40, id="a picture"),
    row(POLICIES["balance"](), "gymnasium/CartPole-v1", 60, id="numbers"),
    row(POLICIES["random"](), "gymnasium/Taxi-v4", 60, id="no arrays"),
    row(POLICIES["random"](), "gymnasium/Pendulum-v1", 20, id="actions are no numbers"),
    row(POLICIES["still"](), "grid/harvest", LONG, id="the replay is cut"),
)
def test_alone_as_among_others(policy, mission, steps):
    """In a thread, agents are played by the loop for many."""
    alone = play(plan_alone(policy, "inline", mission, steps))
    others = play(plan_alone(policy, "thread", mission, steps))
    for one, other in zip(alone, others, strict=True):
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


def test_what_fails_is_told_with_its_step():
    found, *others = play(plan_alone(Tires(), "inline", "grid/harvest", 10))
    assert found == Failure("policy", "Agent 0: RuntimeError: enough", 3)
    assert others == [found]
    broken = plan_alone("still", "inline", "grid/harvest", 10)
    (first, _) = play(broken._replace(environment=Broken()))
    assert (first.cause, first.step) == ("environment", 2)


@pytest.mark.usefixtures("held_time")
def test_one_agent_alone_is_interrupted_or_out_as_many_are():
    plan = plan_alone(Hanger(), "inline", "grid/harvest", 5)
    (found, _) = play(plan._replace(clocks=Clocks(action_seconds=0.2)))
    assert found.timeouts == (1,)
    assert [step[1] for step in steps_of(found)] == [[1], [0], [1], [1], [1]]
    # An agent whose overage is spent is out.
    plan = plan_alone(Late(seconds=3.0), "inline", "grid/harvest", 6)
    clocks = Clocks(action_seconds=2.0, overage_seconds=2.5)
    found = play(plan._replace(clocks=clocks, episodes=plan.episodes[:1]))[0]
    assert (found.steps, found.out_at, found.timeouts) == (6, (2,), (4,))
    assert [step[1] for step in steps_of(found)] == [[1], [1], [0], [0], [0], [0]]


def rules(**changes):
    configuration = read_configuration(rollout(**changes))
    (case, *_) = configuration.make_cases() or []
    return rules_of(configuration.make_candidates()[0], Case(0, case))


@table(
    row(INLINE, None, 0, 100, 1, id="nothing known"),
    row(INLINE, 0.01, 0, 100, 25, id="short ones"),
    row(INLINE, 0.01, 0, 6, 3, id="half, of two jobs"),
    row(INLINE, 5.0, 0, 100, 1, id="long ones"),
    row(PROCESS, 0.01, 0, 100, 1, id="agents have the slots"),
    row(BATCH, None, 0, 100, 32, id="128 observations of 4 agents"),
    row(BATCH, None, MOST_BYTES // 3, 100, 3, id="as many replays as can be sent"),
    row(BATCH, None, 0, 1, 1, id="the last"),
    row(BATCH, None, 0, 0, 0, id="another one took it"),
)
def test_how_many_episodes_are_played_together(inside, seconds, record_bytes, waiting, size):
    known = Known((Choice(inside, inside, ""),), 4, record_bytes)
    known.seconds = seconds
    assert size_of(rules(), known, waiting, at_once=2) == size


@pytest.mark.late  # 8,000 steps of eight agents
async def test_long_replays_of_a_batch_are_sent_in_parts():
    """A result may have 4 MB: eight of these replays have more."""
    mission = {"environment": "grid/crowd", "max_steps": 1000}
    changes = {"missions": [mission], "policies": ["linear"], "lane": "batch", "jobs": 1}
    scores = await played(rollout(**changes, episodes=8))
    assert {score.error for score in scores} == {""}
    assert sum(len(score.record or b"") for score in scores) > 4_200_000


@table(("batch", "cpu", 1), ("batch", "cuda:0", 2), ("inline", "cuda:0", 1))
def test_the_lane_batch_hands_its_device_to_policies_that_take_one(lane, device, action):
    plan = plan_of(odd.Placed(), lane, steps=2, episodes=1)._replace(device=device)
    (found,) = play(plan)
    assert isinstance(found, Episode)
    assert steps_of(found)[0][1] == [action] * 4


async def test_a_device_that_is_not_there_fails_and_one_that_nobody_takes_is_warned_of(monkeypatch):
    (name,) = install(monkeypatch, odd.Placed)
    changes = {"policies": [name, "linear"], "lane": "batch", "batching": {"device": "cpu:9"}}
    document = rollout(**changes, episodes=1)
    scores = await played(document)
    placed, linear = report_for(document, scores).missions[0].policies
    assert [score.error for score in scores] == ["bad_mission", ""]
    assert "there is no cpu:9" in scores[0].message
    assert placed.score is None
    assert linear.lane.warning.endswith("are not computed on cpu:9")
    # It is a name with a number.
    with pytest.raises(ConfigurationError):
        read_configuration(rollout(batching={"device": "../cuda"}))


def test_no_trial_of_the_next_mission_exists_before_this_one_has_ended():
    """However many workers there are: what is not planned, nobody can play."""
    missions = ["grid/harvest", "grid/maze", "grid/crowd"]
    document = rollout(missions=missions, episodes=2, levels=["episodes", "agents"])
    configuration = read_configuration(document)
    cases = configuration.make_cases() or []
    session, history = Session(configuration.begin(len(cases))), []
    played: list[str] = []
    for number in range(3):
        trials = session.plan(3) + session.plan(100)
        assert len(trials) == 4  # 2 policies x 2 episodes
        assert session.plan(100) == []
        assert {cases[trial.case]["mission"] for trial in trials} == {missions[number]}
        played += [f"{cases[trial.case]['mission']}/{trial.candidate}" for trial in trials]
        for trial in reversed(trials):
            assert not session.plan(1)
            session.absorb([scored(trial)])
            history.append(scored(trial))
        again = Session(configuration.begin(len(cases)))
        again.replay(session.asked, history)
        assert (again.asked, again.told) == (session.asked, session.told)
    assert session.is_finished
    assert sorted(played) == sorted(2 * list(dict.fromkeys(played)))
    # With `missions` among the levels all of them go on at once.
    configuration = read_configuration(rollout(missions=["grid/harvest", "grid/maze"], episodes=2))
    cases = configuration.make_cases() or []
    assert [case["mission"] for case in cases] == ["grid/harvest", "grid/maze"] * 2
    assert len(Session(configuration.begin(len(cases))).plan(100)) == 8


def scored(trial):
    return Score(trial, value=1.0)
