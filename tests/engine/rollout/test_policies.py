"""What every policy and every environment keeps to, and what each of ours does."""

from importlib.util import find_spec
from typing import Any

import pytest

from workers.engine.environments import ENVIRONMENTS
from workers.engine.environments.gymnasium_world import Gymnasium
from workers.engine.playing.game import play
from workers.engine.playing.plans import Episode
from workers.engine.policies import POLICIES

from tests.engine.rollout.playing import digests, plan_of, player, record_of  # isort: skip

PLAIN = [name for name in POLICIES if not POLICIES[name].asks]
ANYWHERE = [name for name in PLAIN if name not in ("seeker", "balance")]
# PettingZoo's own environments need packages of their own; this one needs pygame alone.
KNIGHTS = "pettingzoo/butterfly/knights_archers_zombies_v11"
MISSIONS = ["grid/harvest", "grid/maze", "grid/crowd", "gymnasium/CartPole-v1"]
# It brings a plug-in that breaks pytest: pip install -r requirements/mettagrid.lock elsewhere, and
# run this file there with -p no:importnb.
MISSIONS += ["mettagrid/forage"] * bool(find_spec("mettagrid"))


@pytest.mark.parametrize("name", [name for name in PLAIN if name != "balance"])
def test_the_same_seed_gives_the_same_episode(name: str) -> None:
    first = play(plan_of(player(POLICIES[name]())))
    assert all(isinstance(one, Episode) for one in first), first
    assert digests(play(plan_of(player(POLICIES[name]())))) == digests(first)


@pytest.mark.parametrize("lane", ["inline", "thread", "batch", "process"])
@pytest.mark.parametrize("name", ["random", "seeker", "linear", "network"])
def test_every_lane_gives_the_same_actions(name: str, lane: str) -> None:
    """Hidden states included: those of a network and of a generator change in every step."""
    expected = play(plan_of(player(POLICIES[name]()), episodes=3))
    found = play(plan_of(player(POLICIES[name](), lane), episodes=3, at_once=2))
    assert digests(found) == digests(expected)


@pytest.mark.parametrize("mission", [*MISSIONS, KNIGHTS])
@pytest.mark.parametrize("name", ["random", "still"])
def test_every_environment_can_be_played(mission: str, name: str) -> None:
    plan = plan_of(player(POLICIES[name]()), mission=mission, steps=20)
    found = play(plan)
    assert all(isinstance(one, Episode) for one in found), found
    assert digests(found) == digests(play(plan))
    assert name == "still" or len(set(digests(found))) == 2


def played_on() -> list[str]:
    """Those whose worlds are played again and again, without one of its kind twice."""
    found = [f"gymnasium/{one}" for one in Gymnasium.variants() if Gymnasium().can_play_on(one)]
    return [mission for mission in found if "8x8" not in mission]


@pytest.mark.parametrize("mission", played_on())
def test_a_world_that_was_played_in_is_like_a_new_one(mission: str) -> None:
    plan = plan_of(player(POLICIES["random"]()), mission=mission, steps=60, episodes=4)
    alone = [play(plan._replace(episodes=(one,)))[0] for one in plan.episodes]
    again = play(plan._replace(episodes=plan.episodes + plan.episodes[::-1]))
    for one, other in zip(alone + alone[::-1], again, strict=True):
        assert isinstance(one, Episode)
        assert isinstance(other, Episode)
        assert (one.digest, record_of(one)) == (other.digest, record_of(other))


@pytest.mark.parametrize("name", ANYWHERE)
def test_actions_that_are_lists_of_numbers(name: str) -> None:
    found = play(plan_of(player(POLICIES[name]()), mission="gymnasium/Pendulum-v1", steps=5))
    assert all(isinstance(one, Episode) for one in found), found


def test_a_row_of_a_product_does_not_depend_on_the_others() -> None:
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


@pytest.mark.parametrize(
    ("options", "mission", "told"),
    [
        ({"weights": [[1.0, 2.0]]}, "grid/harvest", "needs 75 x 5"),
        ({}, "grid/nowhere", "nowhere"),
        ({}, "gymnasium/Nothing-v9", "Nothing"),
        ({}, "pettingzoo/nothing", "nothing"),
    ],
)
def test_what_does_not_fit_is_a_failure_of_the_configuration(
    options: Any, mission: str, told: str
) -> None:
    plan = plan_of(player(POLICIES["linear"](**options)), mission=mission, episodes=1)
    if mission == "grid/nowhere":
        assert told in ENVIRONMENTS["grid"].problem_with("nowhere")
        return
    (found,) = play(plan)
    assert not isinstance(found, Episode)
    assert found.cause == "configuration"
    assert told in found.message


def test_scripts_are_better_than_chance() -> None:
    def mean(name: str, mission: str) -> float:
        results = play(plan_of(player(POLICIES[name]()), mission=mission, steps=200, episodes=4))
        return sum(one.value for one in results if isinstance(one, Episode)) / 4

    assert mean("seeker", "grid/crowd") > 3 * mean("random", "grid/crowd")
    assert mean("balance", "gymnasium/CartPole-v1") == 200 > mean("random", "gymnasium/CartPole-v1")
