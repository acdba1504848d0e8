"""A person's own model and critic tune prompts."""

import math
import threading
from typing import Any

import pytest

from tests.engine.evolve.test_life import lineage
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import row, table
from workers.engine.hybrid_flow import (
    ActorCriticParams,
    EvolutionaryParams,
    FlowEnded,
    HybridOptimizationFlow,
    HybridReward,
    RewardParts,
)

PROMPTS = ["You answer.\n\nBe brief.", "You check.\n\nBe exact and slow.", "You guess."]
QUERIES = [f"What is {n} + {n}?" for n in range(24)]
SMALL = ActorCriticParams(num_candidates=3, update_interval=4, evolution_interval=2)
FEW = EvolutionaryParams(population_size=6, max_episodes=6)


class Model:
    """Says how long its prompt is; fails and remembers as it is told."""

    def __init__(self, fails_on: str = "") -> None:
        self.asked: list[str] = []
        self._fails_on = fails_on
        self._lock = threading.Lock()

    def complete(self, prompt: str, *, max_tokens: int, temperature: float, **options: Any) -> str:
        with self._lock:
            self.asked.append(prompt)
        if self._fails_on and self._fails_on in prompt:
            raise TimeoutError("The model was silent.")
        return f"{len(prompt.split())} words"


class ByWords:
    """The more words, the better."""

    def score(self, prompt: str, query: str, response: str) -> float | None:
        return min(1.0, int(response.split()[0]) / 40)


def flow(**given):
    options = {"llm": Model(), "critic": ByWords(), "params": SMALL, "evolution": FEW, **given}
    return HybridOptimizationFlow(population=options.pop("population", PROMPTS), **options)


def test_the_defaults_are_those_of_the_source():
    params = ActorCriticParams()
    assert (params.num_candidates, params.update_interval, params.evolution_interval) == (5, 10, 5)
    assert (params.exploration, params.parallel_eval, params.max_workers) == (0.1, False, None)
    how = EvolutionaryParams()
    assert (how.population_size, how.elite_size) == (10, 2)
    assert (how.mutation_rate, how.crossover_rate, how.patience) == (0.3, 0.5, 5)


def test_k_prompts_answer_every_query_in_the_order_of_the_queries():
    tuned, other = flow(), flow()
    steps = tuned.run(QUERIES)
    assert [step.query for step in steps] == QUERIES
    assert {len(step.candidates) for step in steps} == {3}  # num_candidates is used
    assert (tuned.episodes, tuned.reason) == (6, "all 6 episodes are done")
    for step in steps:
        assert other.get_prompt_texts() != []
        assert other.step(step.query) == step  # one by one as all at once
        assert [one.system_prompt for one in step.candidates if one] == step.system_prompts
        assert [one.prompt_index for one in step.candidates if one] == [0, 1, 2]
    assert other.get_prompt_texts() == []
    with pytest.raises(FlowEnded, match="all 6 episodes are done"):
        tuned.step("One more?")
    assert tuned.run(QUERIES) == []


THREE = ActorCriticParams(3, 4, 2, 0.1, True, 3)


@table(
    row({}, 1, id="sequential by default"),
    row({"parallel_eval": True, "max_workers": 3}, 3, id="of the flow"),
    row({"params": THREE}, 3, id="of the params"),
    row({"params": THREE, "parallel_eval": False}, 1, id="the flow goes before the params"),
)
def test_what_the_parameters_say_is_what_happens(given, most):
    """Where three may run at once, they wait for each other: else none would come back."""
    barrier, in_flight, peaks = threading.Barrier(most), list[str](), set[int]()

    def llm(prompt: str, **settings: Any) -> str:
        in_flight.append(prompt)
        peaks.add(len(in_flight))
        barrier.wait(timeout=PATIENCE_SECONDS)
        in_flight.remove(prompt)
        return "5 words"

    steps = flow(llm=llm, **given).run(QUERIES[:4])
    assert all(not step.errors for step in steps)
    assert max(peaks) == most


def test_the_seed_decides_all_chance_and_workers_nothing():
    one, other = flow(seed=3), flow(seed=3, parallel_eval=True, max_workers=4)
    assert one.run(QUERIES) == other.run(QUERIES)
    assert lineage(one._life) == lineage(other._life)
    lives = [lineage(ran(flow(seed=seed))._life) for seed in (7, 7, 8)]
    assert lives[0] == lives[1] != lives[2]


def ran(one):
    one.run(QUERIES)
    return one


def test_one_failure_loses_only_its_own_answer():
    class Moody(ByWords):
        def score(self, prompt: str, query: str, response: str) -> float | None:
            if "5 + 5" in query:
                raise ValueError("The critic is tired.")
            if "7 + 7" in query:
                return math.nan
            return None if "6 + 6" in query else super().score(prompt, query, response)

    tuned = flow(llm=Model(fails_on="You guess."), critic=Moody())
    first, second, *_ = steps = tuned.run(QUERIES[:8])
    guessing = first.system_prompts.index("You guess.")
    assert first.errors == {guessing: "TimeoutError: The model was silent."}
    assert first.candidates[guessing] is None
    assert first.rewards[guessing] is None
    assert [reward is None for reward in first.rewards].count(True) == 1
    assert len(second.candidates) == len(second.rewards) == 3  # None is kept in its place
    tired, silent = steps[5], steps[6]
    assert set(tired.rewards) == set(silent.rewards) == {None}
    assert all(one is not None for one in silent.candidates if one)
    assert "ValueError: The critic is tired." in tired.errors.values()
    assert "The critic gave no score." in silent.errors.values()
    assert "ScorerFailed: The critic gave nan." in str(steps[7].errors)
    assert (tired.chosen, tired.response_shown, tired.system_prompt_used) == (None, None, None)
    guessed = [one for one in tuned.standing if one.system_prompt == "You guess."]
    assert [one.fitness for one in guessed] == [None]  # a failure is no zero, and never best
    assert tuned.best != "You guess."


def test_fitness_is_a_moving_average_of_a_prompts_own_rewards():
    tuned = flow(evolution=EvolutionaryParams(population_size=6, max_episodes=2))
    expected: dict[str, float] = {}
    for step in tuned.run(QUERIES):
        for prompt, reward in zip(step.system_prompts, step.rewards, strict=True):
            assert reward is not None
            expected[prompt] = 0.9 * expected.get(prompt, reward) + 0.1 * reward
    found = {one.system_prompt: one.fitness for one in tuned.standing if one.fitness is not None}
    assert found == pytest.approx(expected)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert tuned.best == next(iter(found))


@table(0, 1, 2)
def test_any_number_of_elites_evolves(elite):
    tuned = ran(flow(evolution=EvolutionaryParams(6, elite, max_episodes=6)))
    births = {one.birth.generation for each in tuned._life.generations for one, _ in each.standing}
    assert births - {0}
    assert tuned.reason == "all 6 episodes are done"


def test_feedback_is_asked_when_there_is_a_response_and_loses_an_answer_where_it_fails():
    shown: list[str] = []

    def feedback(prompt: str, query: str, response: str) -> float | None:
        shown.append(response)
        if query == QUERIES[1]:
            raise KeyError(prompt)
        return 1.0 if "exact" in prompt else None

    tuned = flow(feedback=feedback, reward_fn=HybridReward())
    step = tuned.step(QUERIES[0])
    assert shown == [one.text for one in step.candidates if one]
    assert "exact" in (step.system_prompt_used or "")
    failed = tuned.step(QUERIES[1])
    assert failed.rewards == [None] * 3
    assert set(failed.errors) == {0, 1, 2}


def test_a_longer_answer_is_never_worth_more_for_its_length():
    rewards = [HybridReward()(RewardParts(0.5, 0.5, tokens)) for tokens in (0, 1, 500, 5000)]
    assert rewards == sorted(rewards, reverse=True)
    assert len(set(rewards)) == 4
    assert HybridReward(lambda_critic=0.5)(RewardParts(0.0, 1.0)) == 1.0
    harmful = HybridReward()(RewardParts(0.5, 0.5, safety_penalty=1.0))
    assert harmful == pytest.approx(rewards[0] - 1.0)


@table(1, 5, 8, 11, 24)
def test_a_history_brings_a_new_flow_to_the_same_place(cut):
    whole, first = ran(flow(seed=2)), flow(seed=2)
    first.run(QUERIES[:cut])
    model = Model()
    second = flow(seed=2, llm=model)
    second.resume(first.history)
    assert model.asked == []
    second.run(QUERIES[cut:])
    assert lineage(second._life) == lineage(whole._life)
    with pytest.raises(ValueError, match="other prompts, options or seed"):
        flow(population=["Another one."]).resume(first.history)


def test_it_ends_early_only_when_told_so():
    class Same:
        def score(self, prompt: str, query: str, response: str) -> float | None:
            return 0.5

    how = {"population_size": 6, "max_episodes": 30, "patience": 1}
    queries = QUERIES * 6
    patient = flow(critic=Same(), evolution=EvolutionaryParams(**how))
    assert len(patient.run(queries)) == 30 * 4
    hasty = flow(critic=Same(), evolution=EvolutionaryParams(**how, min_improvement=0.01))
    assert len(hasty.run(queries)) == 4 * 4
    assert hasty.reason == "the best gained 0.000 in 1 evolutions"
