"""What every policy and every environment keeps to, and what each of ours does."""

from collections import Counter
from importlib.util import find_spec
from inspect import unwrap
from itertools import product

import orjson
import pytest

from tests.engine.rollout.playing import cases_of, plan_of, play, record_of, rollout
from tests.engine.running import run_document
from tests.harness.table import row, table
from workers.engine.environments import ENVIRONMENTS
from workers.engine.environments.gymnasium_world import Gymnasium
from workers.engine.kinds import read_configuration
from workers.engine.kinds.rollout.choosing import choose
from workers.engine.playing.assigning import assign, count_agents
from workers.engine.playing.measuring import Facts
from workers.engine.playing.plans import Episode
from workers.engine.policies import POLICIES

PLAIN = [name for name in POLICIES if not POLICIES[name].asks]
ANYWHERE = [name for name in PLAIN if name not in ("seeker", "balance")]
# PettingZoo's own environments need packages of their own; this one needs pygame alone.
KNIGHTS = "pettingzoo/butterfly/knights_archers_zombies_v11"
MISSIONS = ["grid/harvest", "grid/maze", "grid/crowd", "gymnasium/CartPole-v1"]
# It brings a plug-in that breaks pytest: pip install -r requirements/mettagrid.lock elsewhere, and
# run this file there with -p no:importnb.
MISSIONS += ["mettagrid/forage"] * bool(find_spec("mettagrid"))


def digests(results):
    return [one.digest if isinstance(one, Episode) else one.told for one in results]


@table(
    *((name, "inline") for name in PLAIN if name != "balance"),
    *product(["random", "seeker", "linear", "network"], ["thread", "batch", "process"]),
)
def test_the_same_seed_gives_the_same_actions_in_every_lane(name, lane):
    """Hidden states included: those of a network and of a generator change in every step."""
    expected = play(plan_of(name, episodes=3))
    assert all(isinstance(one, Episode) for one in expected), expected
    found = play(plan_of(name, lane, episodes=3, at_once=2))
    assert digests(found) == digests(expected)


@table(*product(MISSIONS, ["random", "still"]))
def test_every_environment_can_be_played(mission, name):
    plan = plan_of(name, mission=mission, steps=20)
    found = play(plan)
    assert all(isinstance(one, Episode) for one in found), found
    assert digests(found) == digests(play(plan))
    assert name == "still" or len(set(digests(found))) == 2


@pytest.mark.late
@table("random", "still")
def test_an_environment_of_pettingzoo_can_be_played(name):
    unwrap(test_every_environment_can_be_played)(KNIGHTS, name)


def played_on():
    """Those whose worlds are played again and again, without one of its kind twice."""
    found = [f"gymnasium/{one}" for one in Gymnasium.variants() if Gymnasium().can_play_on(one)]
    return [mission for mission in found if "8x8" not in mission]


@table(*played_on())
def test_a_world_that_was_played_in_is_like_a_new_one(mission):
    plan = plan_of("random", mission=mission, steps=60, episodes=4)
    alone = [play(plan._replace(episodes=(one,)))[0] for one in plan.episodes]
    again = play(plan._replace(episodes=plan.episodes + plan.episodes[::-1]))
    for one, other in zip(alone + alone[::-1], again, strict=True):
        assert (one.digest, record_of(one)) == (other.digest, record_of(other))


@table(*ANYWHERE)
def test_actions_that_are_lists_of_numbers(name):
    found = play(plan_of(name, mission="gymnasium/Pendulum-v1", steps=5))
    assert all(isinstance(one, Episode) for one in found), found


def test_a_row_of_a_product_does_not_depend_on_the_others():
    import numpy as np

    from workers.engine.policies.products import product

    random = np.random.default_rng(0)
    for inputs, outputs in [(1, 1), (4, 2), (9, 1), (75, 5), (200, 32)]:
        weights = random.normal(size=(inputs, outputs))
        rows = random.normal(size=(64, inputs))
        together = product(rows, weights)
        alone = np.concatenate([product(rows[n : n + 1], weights) for n in range(64)])
        assert np.array_equal(together, alone)
        assert np.allclose(together, rows @ weights)


@table(
    ({"weights": [[1.0, 2.0]]}, "grid/harvest", "needs 75 x 5"),
    ({}, "grid/nowhere", "nowhere"),
    ({}, "gymnasium/Nothing-v9", "Nothing"),
    ({}, "pettingzoo/nothing", "nothing"),
)
def test_what_does_not_fit_is_a_failure_of_the_configuration(options, mission, told):
    plan = plan_of(POLICIES["linear"](**options), mission=mission, episodes=1)
    if mission == "grid/nowhere":
        assert told in ENVIRONMENTS["grid"].problem_with("nowhere")
        return
    (found,) = play(plan)
    assert not isinstance(found, Episode)
    assert found.cause == "configuration"
    assert told in found.message


def test_scripts_are_better_than_chance():
    def mean(name: str, mission: str) -> float:
        results = play(plan_of(name, mission=mission, steps=200, episodes=4))
        return sum(one.value for one in results if isinstance(one, Episode)) / 4

    assert mean("seeker", "grid/crowd") > 3 * mean("random", "grid/crowd")
    assert mean("balance", "gymnasium/CartPole-v1") == 200 > mean("random", "gymnasium/CartPole-v1")


@table(
    row(10, [1, 1], [5, 5], id="even"),
    row(0, [1, 2], [0, 0], id="nobody plays"),
    row(3, [1, 1], [2, 1], id="of equal remainders the earlier"),
    row(4, [1, 3], [1, 3], id="exact"),
    row(10, [1, 1, 1], [4, 3, 3], id="one left over"),
    row(7, [0.5, 0.25, 0.25], [3, 2, 2], id="largest remainders"),
    row(1, [1, 9], [0, 1], id="who has little may have nobody"),
)
def test_agents_are_counted_by_largest_remainder(agents, shares, counts):
    assert count_agents(agents, shares) == counts


def test_an_episode_has_the_same_seats_in_any_order_and_shares_are_above_0():
    for shares in ([0, 0], [1, -1]):
        with pytest.raises(ValueError, match="numbers above 0"):
            count_agents(4, shares)
    forth = [assign(8, [1, 1], seed) for seed in range(10)]
    back = [assign(8, [1, 1], seed) for seed in reversed(range(10))]
    assert forth == back[::-1]
    assert len(set(forth)) > 1
    assert all(Counter(seats) == {0: 4, 1: 4} for seats in forth)


WAITS = Facts(16, 0.020, 0.0001, None, 0.0001)
COMPUTES = Facts(16, 0.002, 0.002, None, 0.0001)
BATCHES = Facts(16, 0.0002, 0.0002, 0.00002, 0.0001)
QUICK = Facts(16, 0.00001, 0.00001, None, 0.0001)
ALONE = Facts(1, 0.020, 0.0001, None, 0.0001)
NO_GAIN = Facts(16, 0.0002, 0.0002, 0.00019, 0.0001)


@table(
    row(WAITS, 1, "thread", "thread", "waits 100%", id="waits"),
    row(COMPUTES, 1, "process", "inline", "whole episodes", id="computes, all busy"),
    row(COMPUTES, 4, "process", "process", "left over", id="computes, slots free"),
    row(QUICK, 4, "process", "inline", "whole episodes", id="too quick to send"),
    row(BATCHES, 4, "batch", "batch", "10 times", id="batches"),
    row(NO_GAIN, 1, "process", "inline", "whole", id="a batch gains nothing"),
    row(ALONE, 4, "process", "inline", "whole episodes", id="one agent"),
)
def test_auto(facts, spare, lane, inside, told):
    found = choose("auto", facts, spare=spare, by_agents=True)
    assert (found.lane, found.inside) == (lane, inside)
    assert told in found.reason
    assert not found.warning


@table(
    row("batch", COMPUTES, "inline", "no step_batch", id="no batch there"),
    row("thread", COMPUTES, "thread", "share a core", id="threads that compute"),
    row("thread", WAITS, "thread", "", id="threads that wait"),
    row("process", QUICK, "process", "lose what they gain", id="exchange eats all"),
    row("process", COMPUTES, "process", "", id="processes that compute"),
)
def test_a_lane_that_was_named_is_used_and_warned_of(wanted, facts, inside, told):
    found = choose(wanted, facts, spare=4, by_agents=True)
    assert found.inside == inside
    assert told in found.warning
    assert bool(found.warning) == bool(told)


def test_a_lane_that_cannot_be_used_is_not_said_to_be_chosen():
    found = choose("batch", COMPUTES, spare=4, by_agents=True)
    assert (found.lane, found.inside) == ("process", "inline")
    assert found.reason == "the configuration chose batch, which needs a step_batch"
    assert choose("batch", BATCHES, spare=4, by_agents=True).reason == "chosen by the configuration"
    # Agents can be switched off.
    for wanted, facts in product(("auto", "thread", "process"), (WAITS, COMPUTES)):
        assert choose(wanted, facts, spare=4, by_agents=False).inside == "inline"


OPTIONS = {
    "model": "simulated/sim-large",
    "instructions": "What is 1 + 1? Answer with the number only.",
}


def chatting(**changes):
    missions = [{"environment": "grid/harvest", "max_steps": 3}]
    policies = [{"name": "chat", "options": OPTIONS}]
    return rollout(policies=policies, missions=missions, episodes=2, cache="off", **changes)


async def test_every_agent_asks_in_every_step(simulator):
    document = chatting(jobs=4)
    scores = await run_document(document, cases_of(document), simulator.url)
    assert [score.error for score in scores] == ["", ""], scores[0].message
    assert [score.calls_sent for score in scores] == [12, 12]  # 4 agents x 3 steps
    assert orjson.loads(scores[0].answer)["lanes"][0][0] == "async"
    again = await run_document(document, cases_of(document), simulator.url)
    for one, other in zip(again, scores, strict=True):
        assert orjson.loads(one.answer)["digest"] == orjson.loads(other.answer)["digest"]
    found = read_configuration(document)
    assert [model.label for model in found.called] == ["simulated/sim-large"]
    assert found.model_path(0) == "policies.0.options.model"
    assert found.calls_per_trial() == 12  # 4 agents x 3 steps
    # A model that fails is no zero.
    document = chatting(limits={"attempts": 1})
    simulator.change(error_rate=1.0)
    scores = await run_document(document, cases_of(document), simulator.url)
    assert {(score.value, score.error) for score in scores} == {(None, "server_error")}
