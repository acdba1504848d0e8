"""What a configuration of kind mutate may say."""

from random import Random
from typing import Any

import pytest

from tests.engine.mutate.training_runs import mutation
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.kinds.mutate import Mutation
from workers.engine.kinds.mutate.operators import OPERATORS, TypoNoise
from workers.engine.kinds.mutate.options import TrainingOptions

SEED_NAMES = {
    "num_steps": 32,
    "lr": 5e-4,
    "gamma": 0.95,
    "gae_lambda": 0.95,
    "clip_param": 0.2,
    "ppo_epoch": 4,
    "num_mini_batch": 4,
    "value_loss_coef": 0.5,
    "entropy_coef": 0.03,
    "max_grad_norm": 0.5,
    "eps": 1e-5,
    "hidden_size": 64,
}


def test_defaults_are_the_usual_ones() -> None:
    found = read_configuration(mutation(strategy="ppo"))
    assert isinstance(found, Mutation)
    assert {name: getattr(found.options, name) for name in SEED_NAMES} == SEED_NAMES
    assert found.most_trials(100) == 20 * 16
    assert found.count_confirming(100) == 3 * 20


@pytest.mark.parametrize(
    ("given", "updates"),
    [
        pytest.param({}, 20, id="neither"),
        pytest.param({"updates": 3}, 3, id="updates"),
        pytest.param({"num_env_steps": 5000}, 9, id="steps, rounded down"),
        pytest.param({"num_env_steps": 1}, 1, id="at least one"),
    ],
)
def test_updates(given: dict[str, int], updates: int) -> None:
    assert TrainingOptions(num_processes=16, num_steps=32, **given).count_updates == updates


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param({"operators": ["noop"]}, "at least 2", id="one operator"),
        pytest.param({"operators": ["noop", "noop"]}, "Given twice", id="twins"),
        pytest.param({"operators": ["noop", "shout"]}, "Unknown rewriting operator", id="unknown"),
        pytest.param(
            {"roles": {"target": "simulated/sim-small"}}, "name it as the mutator", id="m"
        ),
        pytest.param(
            {"scorers": [], "roles": {"target": "a/b"}}, "what an answer is worth", id="r"
        ),
        pytest.param({"strategy": {"ppo": {"updates": 2, "num_env_steps": 9}}}, "not both", id="u"),
        pytest.param({"goal": "win"}, "stays_right", id="goal"),
        pytest.param({"repeats": 2}, "repeats", id="repeats"),
        pytest.param({"scorers": [{"webhook": {"url": "https://a.b/c"}}]}, "a service", id="post"),
    ],
)
def test_what_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        read_configuration(mutation(**given))


@pytest.mark.parametrize(
    ("given", "place", "told"),
    [
        pytest.param(
            {"goal": "consistent", "scorers": ["exact", "numeric"]},
            "scorers.1",
            "compares two answers, which the scorer numeric cannot",
            id="a number cannot be compared with a whole answer",
        ),
        pytest.param(
            {"strategy": {"ppo": {"num_processes": 64, "num_steps": 256, "hidden_size": 512}}},
            "strategy",
            "Lower num_processes",
            id="learning would stop the worker's thread for a minute",
        ),
    ],
)
def test_what_may_not_be_begun_can_be_looked_at(
    given: dict[str, Any], place: str, told: str
) -> None:
    (problem,) = read_configuration(mutation(**given)).plugin_problems()
    assert problem.path == place
    assert told in problem.message


@pytest.mark.parametrize(
    "scorer", ["exact", "token_f1", {"rubric": {"judge": "a/b", "rubric": "x"}}]
)
def test_what_compares_texts_can_tell_whether_answers_agree(scorer: Any) -> None:
    found = read_configuration(mutation(goal="consistent", scorers=[scorer]))
    assert found.plugin_problems() == []


def test_the_largest_update_of_usual_networks_can_be_learnt_from() -> None:
    strategy = {"ppo": {"num_processes": 512, "num_steps": 32}}
    assert (
        read_configuration(mutation(strategy=strategy, observation_size=128)).plugin_problems()
        == []
    )


def test_without_batching_one_call_is_made_at_a_time() -> None:
    assert read_configuration(mutation(use_batching=False)).limits.max_concurrent == 1


def test_every_operator_says_what_it_does() -> None:
    assert all(one.summary for one in OPERATORS.describe())
    assert [name for name, one in OPERATORS.items() if not one.asks] == ["noop", "typo_noise"]


def test_typos_keep_numbers_and_letters() -> None:
    query = "Ann has 1234 marbles and buys 17 more. How many marbles are there?"
    noisy = TypoNoise(rate=1.0).rewrite(query, Random(1))
    assert noisy != query
    assert sorted(noisy) == sorted(query)
    assert "1234" in noisy
    assert "17" in noisy
