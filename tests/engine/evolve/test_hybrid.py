"""Actor and critic: the fittest prompts answer, their fitness follows their scores, all evolve."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.evolve.test_life import evolution, judged, lineage, live
from tests.harness.table import table
from workers.engine.kinds.evolve import Evolution
from workers.engine.kinds.evolve.hybrid import Hybrid
from workers.engine.kinds.evolve.operators import OperatorChoice, Toolbox
from workers.engine.kinds.evolve.options import HybridOptions
from workers.engine.records import Score
from workers.engine.session import Session

CASES = 12


def hybrid(operators=("sections",), **options):
    few = {"population_size": 6, "elite_size": 1, "num_candidates": 3, "max_episodes": 6}
    often = {"update_interval": 4, "evolution_interval": 2}
    strategy = {"name": "hybrid", **few, **often, **options}
    return Evolution.model_validate({**evolution(operators).model_dump(), "strategy": strategy})


def test_k_prompts_answer_each_of_m_queries_and_all_evolve_every_e_episodes():
    life = hybrid(exploration=0.0).open_strategy(CASES)
    session = Session(life)
    first = session.plan(100)
    assert len(first) == 3 * 4
    assert set(Counter(trial.case for trial in first).values()) == {3}
    assert session.plan(1) == []  # all of an episode is told before the next is chosen
    session.absorb_fresh([judged(life, trial) for trial in first])
    while not session.is_finished:
        session.absorb_fresh([judged(life, trial) for trial in session.plan(5)])
    assert len(life.generations) == 6
    births = {one.birth.generation for each in life.generations for one, _ in each.standing}
    assert births == {0, 2, 4}
    assert life.reason == "all 6 episodes are done"


def test_a_replay_lives_the_same_life_and_nothing_is_asked_twice():
    ways: list[tuple[Any, ...]] = [("sections",), ("words",), ("sections", "reflect")]
    for operators in ways:
        first = hybrid(operators).open_strategy(CASES)
        history = live(first)
        assert set(Counter(score.trial[1:] for score in history).values()) == {1}
        for asked in (5, 20, len(history) - 1):
            life = hybrid(operators).open_strategy(CASES)
            session = Session(life)
            session.replay(asked, history[:asked])
            while not session.is_finished:
                session.absorb_fresh([judged(life, trial) for trial in session.plan(100)])
            assert lineage(life) == lineage(first)


def test_what_failed_moves_no_fitness_and_is_never_best():
    def first_fails(life, trial):
        is_first = trial.candidate == life.candidates[0].key
        return Score(trial, error="timeout") if is_first else judged(life, trial)

    life = hybrid(max_episodes=2).open_strategy(CASES)
    live(life, first_fails)
    failed = life.candidates[0].key
    assert all(fit is None for each in life.generations for one, fit in each.standing
               if one.key == failed)  # fmt: skip
    assert life.best is not None
    assert life.candidates[life.best].key != failed
    dead = hybrid().open_strategy(CASES)
    live(dead, lambda _, trial: Score(trial, error="timeout"))
    assert dead.best is None
    assert "all of its trials failed" in dead.reason


def test_patience_ends_it_when_the_best_gains_nothing():
    def alike(life, trial):
        return replace(judged(life, trial), value=0.5)

    life = hybrid(max_episodes=40, patience=2).open_strategy(CASES)
    live(life, alike)
    assert life.reason == "the best gained 0.000 in 2 evolutions"
    assert len(life.generations) == 6


def test_the_bounds_hold():
    ways: list[dict[str, Any]] = [{}, {"max_episodes": 1}, {"num_candidates": 50}]
    for options in ways:
        found = hybrid(**options)
        bounds, asked = found.bound_trials(CASES), len(live(found.open_strategy(CASES)))
        assert bounds.least <= asked <= bounds.most
        assert isinstance(found.open_strategy(CASES), Hybrid)


@table(
    (["words"], {"": 12}),
    (["reflect"], {"reflect": 12}),
    ([{"reflect": {"weight": 2}}, "combine"], {"reflect": 8, "combine": 4}),
    (["words", {"reflect": {"weight": 3}}], {"": 3, "reflect": 9}),
)
def test_operators_take_turns_by_their_weights(operators, counts):
    toolbox = Toolbox([OperatorChoice.model_validate(one) for one in operators])
    turns = [writer.name if writer else "" for writer in toolbox.in_turn(12)]
    assert Counter(turns) == counts
    for name, count in counts.items():  # every half has its share, too
        assert abs(turns[:6].count(name) - count / 2) < 1


@table(
    ({"name": "hybrid", "max_workers": 4}, {"max_concurrent": 4}),
    ({"name": "hybrid", "parallel_eval": True, "max_workers": None}, {"max_concurrent": 8}),
    ({"name": "hybrid", "parallel_eval": False}, {"schedule": "sequential"}),
    ({"name": "genetic", "async_batch_size": 7}, {"batch_size": 7}),
    (
        {"name": "genetic", "max_concurrent_genomes": 5, "max_concurrent_requests": 10},
        {"max_concurrent_candidates": 5, "max_concurrent_per_candidate": 10},
    ),
    ({"name": "genetic", "enable_async_evaluation": False}, {"max_concurrent": 1}),
    ({"genetic": {"detailed_performance_logging": True}}, {"performance_summary": True}),
    ({"name": "genetic", "rate_limit_per_minute": 3500}, {"requests_per_minute": 3500}),
)
def test_the_speed_of_the_guides_configurations_is_read_as_limits(strategy, limits):
    document = evolution().model_dump(exclude={"limits"})
    given = {"max_concurrent": 8} if limits == {"max_concurrent": 8} else {}
    found = Evolution.model_validate({**document, "strategy": strategy, "limits": given})
    assert {name: getattr(found.limits, name) for name in limits} == limits
    assert found.strategy.options == {}
    assert Evolution.model_validate(found.model_dump()) == found


def test_a_limit_is_given_once_and_k_has_both_of_its_names():
    document = {**evolution().model_dump(), "limits": {"max_concurrent": 3}}
    with pytest.raises(ValueError, match="Given under strategy and under limits: max_concurrent"):
        Evolution.model_validate({**document, "strategy": {"name": "hybrid", "max_workers": 4}})
    found = hybrid(num_candidates=5)
    document = {**found.model_dump(), "strategy": {"name": "hybrid", "top_k_prompts": 7}}
    options = Evolution.model_validate(document).options
    assert isinstance(options, HybridOptions)
    assert options.num_candidates == 7


def test_a_small_population_keeps_half_of_it_unless_it_is_said():
    for strategy, elite in (
        ({"name": "genetic", "population_size": 4}, 2),
        ({"name": "genetic", "population_size": 4, "preset": "reflective"}, 2),
        ({"name": "genetic", "population_size": 40}, 5),
        ({"name": "genetic", "population_size": 4, "elite_size": 3}, 3),
    ):
        document = {**evolution().model_dump(), "strategy": strategy}
        assert Evolution.model_validate(document).options.elite_size == elite
