"""Mutations through the whole engine, over real HTTP."""

from random import Random

import orjson
import pytest

from tests.engine.mutate.training_runs import SMALL, mutation, train
from tests.harness.table import row, table
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.kinds.mutate import Mutation
from workers.engine.kinds.mutate.operators import OPERATORS, TypoNoise
from workers.engine.kinds.mutate.options import TrainingOptions
from workers.engine.kinds.mutate.report import as_record
from workers.engine.kinds.mutate.segments import read_told
from workers.engine.records import EVALUATE
from workers.engine.session import Session, as_told

BOARD = {"updates", "fallback_rate", "held_out", "weights"}


async def test_a_run_trains_compares_and_reports(simulator):
    found = await train(mutation(held_out=2), simulator.url)
    names = ["update 1", "update 2", "ppo", "uniform", "ucb"]
    assert [one.name for one in found.candidates] == names
    assert len({one.key for one in found.candidates}) == 5
    assert len(found.scores) == 2 * 3 + 3 * 2
    assert not any(score.error for score in found.scores)
    board = as_record(found.report)
    assert board.keys() >= BOARD
    assert [row["update"] for row in board["updates"]] == [1, 2]
    assert all(row["kl"] >= 0 and row["entropy"] > 0 for row in board["updates"])
    assert all(row["transitions"] == 3 * 4 for row in board["updates"])
    assert all(0 <= value <= 1 for value in board["held_out"].values())
    assert set(board["held_out"]) == {"ppo", "uniform", "ucb"}
    assert len(board["weights"]) == 64
    orjson.dumps(board)


async def test_every_call_is_counted_by_its_role(simulator):
    scorers = [{"factuality": {"judge": "simulated/sim-large"}}]
    found = await train(mutation(scorers=scorers, held_out=None), simulator.url)
    calls = found.report.calls
    assert set(calls) == {"mutator", "target", "judge", "embedder"}
    sent = sum(score.judging.sent for score in found.scores if score.judging)
    assert sent == calls["judge"].asked - calls["judge"].cached > 0
    others = [calls["mutator"], calls["target"]]
    attempts = [one for score in found.scores for one in score.attempts if one.what == "call"]
    made = sum(one.step != "embedder" for one in attempts)  # texts travel together
    assert made == sum(one.asked - one.cached for one in others)


async def test_neither_batching_nor_a_replay_from_records_changes_what_is_learned(simulator):
    simulator.change(latency_ms=3, jitter=0.9)
    at_once = await train(mutation(), simulator.url)
    simulator.reset()
    one_by_one = await train(mutation(use_batching=False), simulator.url)
    assert simulator.ledger()["peak_in_flight"] == 1
    assert one_by_one.weights == at_once.weights
    assert one_by_one.transitions == at_once.transitions
    session = Session(read_configuration(mutation()).begin(8))
    history = [as_told(score, session.hears) for score in at_once.scores]
    session.replay(len(history), history)
    session.plan(100)
    assert session.is_finished
    assert [one.key for one in session.candidates] == [one.key for one in at_once.candidates]
    assert (await train(mutation(seed=8), simulator.url)).weights != at_once.weights


async def test_what_the_last_update_learnt_is_kept_where_nothing_is_held_out(simulator):
    found = await train(mutation(held_out=None), simulator.url)
    assert [one.name for one in found.candidates[:3]] == ["update 1", "update 2", "ppo"]
    assert len({one.document["weights"] for one in found.candidates[:3]}) == 3
    assert found.report.updates[-1].kl is not None
    assert as_record(found.report)["held_out"] == {"ppo": None, "uniform": None, "ucb": None}


async def test_failed_calls_are_excluded_and_counted(simulator):
    whole = await train(mutation(), simulator.url)
    simulator.play({"do": "error", "status": 400, "times": 4, "match": {"model": "sim-large"}})
    found = await train(mutation(cache="off"), simulator.url)
    excluded = [row for row in found.transitions if row["excluded"]]
    assert len(excluded) == 4 == found.report.excluded
    assert found.report.failures == {"mutator/refused": 4}
    assert found.report.fallback_rate == 4 / found.report.transitions
    assert found.report.transitions == whole.report.transitions
    for lost in excluded:
        assert lost["reward"] is lost["value"] is None
        assert lost["after"] == lost["query"]
    trained = {one.key for one in found.candidates if one.role == EVALUATE}
    told = [read_told(one.answer) for one in found.scores if one.trial.candidate in trained]
    learned = [one.document["learned"]["samples"] for one in found.candidates[1:3]]
    assert sum(learned) == sum(one.transitions - one.excluded for one in told)


async def test_a_segment_that_lost_everything_is_a_failed_trial(simulator):
    simulator.play({"do": "error", "status": 400, "times": 99, "match": {"model": "sim-small"}})
    found = await train(mutation(held_out=None), simulator.url)
    assert {score.error for score in found.scores} == {"refused"}
    assert found.report.fallback_rate == 1.0
    assert all(row.reward is None for row in found.report.updates)
    first, last = found.candidates[0].document, found.candidates[-1].document
    assert last["weights"] == first["weights"]  # there was nothing to learn from


@table(
    row({"model": "sim-large"}, "mutator", id="rewrite"),
    row({"model": "sim-small"}, "target", id="target"),
    row({"model": "sim-embed"}, "embedder", id="embedding"),
    row({"model": "sim-medium"}, "judge", id="judge"),
)
async def test_every_role_may_fail(simulator, match, role):
    simulator.play({"do": "error", "status": 400, "times": 6, "match": match})
    scorers = [{"factuality": {"judge": "simulated/sim-medium"}}]
    strategy = {**SMALL, "num_processes": 1, "num_steps": 8}
    found = await train(mutation(scorers=scorers, strategy=strategy, held_out=None), simulator.url)
    assert {name.partition("/")[0] for name in found.report.failures} == {role}


@table("uniform", "ucb")
async def test_a_baseline_is_a_strategy_of_its_own(simulator, strategy):
    options = {name: SMALL[name] for name in ("num_processes", "num_steps", "updates")}
    given = mutation(strategy={"name": strategy, **options}, held_out=2)
    found = await train(given, simulator.url)
    assert found.candidates[2].name == strategy
    assert {one.name for one in found.candidates[2:]} == {"uniform", "ucb"}
    assert as_record(found.report)["held_out"]["ppo"] is None
    assert (await train(given, simulator.url)).weights == found.weights


@table("stays_right", "turns_wrong", "consistent")
async def test_the_reward_is_of_the_goal(simulator, goal):
    scorers = ["exact" if goal == "consistent" else "numeric"]  # two whole answers are compared
    found = await train(mutation(goal=goal, scorers=scorers, held_out=None), simulator.url)
    for one in found.transitions:
        if goal == "turns_wrong":
            assert one["reward"] in (0.0, 1.0 - one["value"])
        else:
            assert one["reward"] == one["value"]
    same = [row for row in found.transitions if row["rewritten"] == row["query"]]
    if goal == "consistent":
        assert {row["reward"] for row in same} == {1.0}
    if goal == "turns_wrong":  # the query as it was has turned nothing wrong
        assert {row["reward"] for row in same if row["query"] == 0} == {0.0}


@table(
    row({"judge": "simulated/sim-large"}, "factuality", id="judge"),
    row({}, "similarity", id="embedder"),
)
async def test_without_scorers_the_roles_judge(simulator, roles, scorer):
    document = mutation(held_out=None)
    del document["scorers"]
    document["roles"] = {**document["roles"], **roles}
    assert [one.name for one in read_configuration(document).scorers] == [scorer]
    found = await train(document, simulator.url)
    assert not any(score.error for score in found.scores)


SEED_NAMES = {"num_steps": 32, "lr": 5e-4, "gamma": 0.95, "gae_lambda": 0.95, "clip_param": 0.2}
SEED_NAMES |= {"ppo_epoch": 4, "num_mini_batch": 4, "value_loss_coef": 0.5, "entropy_coef": 0.03}
SEED_NAMES |= {"max_grad_norm": 0.5, "eps": 1e-5, "hidden_size": 64}


def test_defaults_are_the_usual_ones():
    found = read_configuration(mutation(strategy="ppo"))
    assert isinstance(found, Mutation)
    assert {name: getattr(found.options, name) for name in SEED_NAMES} == SEED_NAMES
    assert found.most_trials(100) == 20 * 16
    assert found.count_confirming(100) == 3 * 20
    assert read_configuration(mutation(use_batching=False)).limits.max_concurrent == 1
    for given, updates in (
        ({}, 20),
        ({"updates": 3}, 3),
        ({"num_env_steps": 5000}, 9),  # rounded down
        ({"num_env_steps": 1}, 1),  # at least one
    ):
        assert TrainingOptions(num_processes=16, num_steps=32, **given).count_updates == updates


@table(
    row({"operators": ["noop"]}, "at least 2", id="one operator"),
    row({"operators": ["noop", "noop"]}, "Given twice", id="twins"),
    row({"operators": ["noop", "shout"]}, "Unknown rewriting operator", id="unknown"),
    row({"roles": {"target": "simulated/sim-small"}}, "name it as the mutator", id="m"),
    row({"scorers": [], "roles": {"target": "a/b"}}, "what an answer is worth", id="r"),
    row({"strategy": {"ppo": {"updates": 2, "num_env_steps": 9}}}, "not both", id="u"),
    row({"goal": "win"}, "stays_right", id="goal"),
    row({"repeats": 2}, "repeats", id="repeats"),
    row({"scorers": [{"webhook": {"url": "https://a.b/c"}}]}, "a service", id="post"),
)
def test_what_is_refused(given, told):
    with pytest.raises(ConfigurationError, match=told):
        read_configuration(mutation(**given))


LARGE = {"ppo": {"num_processes": 64, "num_steps": 256, "hidden_size": 512}}
USUAL = {"strategy": {"ppo": {"num_processes": 512, "num_steps": 32}}, "observation_size": 128}
RUBRIC = {"rubric": {"judge": "a/b", "rubric": "x"}}


def agreeing(*scorers):
    return {"goal": "consistent", "scorers": list(scorers)}


@table(
    row(agreeing("exact", "numeric"), "scorers.1", "which the scorer numeric cannot", id="numbers"),
    row({"strategy": LARGE}, "strategy", "Lower num_processes", id="a minute of the worker's"),
    *((agreeing(scorer), "", "") for scorer in ("exact", "token_f1", RUBRIC)),
    row(USUAL, "", "", id="as usual"),
)
def test_what_may_not_be_begun_can_be_looked_at(given, place, told):
    problems = read_configuration(mutation(**given)).plugin_problems()
    assert [problem.path for problem in problems] == [place] * bool(place)
    assert all(told in problem.message for problem in problems)


def test_every_operator_says_what_it_does_and_typos_keep_numbers_and_letters():
    assert all(one.summary for one in OPERATORS.describe())
    assert [name for name, one in OPERATORS.items() if not one.asks] == ["noop", "typo_noise"]
    query = "Ann has 1234 marbles and buys 17 more. How many marbles are there?"
    noisy = TypoNoise(rate=1.0).rewrite(query, Random(1))
    assert noisy != query
    assert sorted(noisy) == sorted(query)
    assert "1234" in noisy
    assert "17" in noisy
