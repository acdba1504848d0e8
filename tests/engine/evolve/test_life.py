"""An evolution asks and is told: by the same seed the same lineage, whatever happens."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.running import evaluation, known, table_of
from tests.harness.table import table
from workers.engine.here import run_here
from workers.engine.http import Client
from workers.engine.kinds.evolve import Evolution, life_in
from workers.engine.kinds.evolve.hybrid import Hybrid
from workers.engine.kinds.evolve.life import Life as AnyLife
from workers.engine.kinds.evolve.operators import OperatorChoice, Toolbox
from workers.engine.kinds.evolve.options import HybridOptions
from workers.engine.kinds.evolve.report import report_of
from workers.engine.providers import PROVIDERS
from workers.engine.records import EVALUATE, PROPOSE, Judgement, Score, Trial
from workers.engine.session import Session
from workers.engine.strategies.confirmed import confirmation_key

SEEDS = ["Answer the question.", "Answer with the number only.", "Be friendly and answer."]
CASES = 12
Life = AnyLife[Any]
Answer = Callable[[Life, Trial], Score]

WRITER = {"model": "simulated/sim-large"}
WRITERS = [{name: WRITER} for name in ("reflect", "combine", "rewrite", "paraphrase")]


def evolution(operators=("words",), **options):
    few = {"population_size": 6, "max_generations": 4, "elite_size": 2, "target_fitness": None}
    prompts = [{"name": f"p{n}", "system": text} for n, text in enumerate(SEEDS)]
    limits = {"max_concurrent": 8, "requests_per_minute": None}
    strategy = {"name": "genetic", **few, **options}
    evolving = {"kind": "evolve", "seed": 5, "operators": list(operators), "strategy": strategy}
    document = evaluation("numeric", prompts=prompts, limits=limits, **evolving)
    return Evolution.model_validate(document)


def hybrid(operators=("sections",), **options):
    few = {"population_size": 6, "elite_size": 1, "num_candidates": 3, "max_episodes": 6}
    often = {"update_interval": 4, "evolution_interval": 2}
    strategy = {"name": "hybrid", **few, **often, **options}
    return Evolution.model_validate({**evolution(operators).model_dump(), "strategy": strategy})


def judged(life, trial):
    """As if longer prompts were better, and a writer gave one more word."""
    candidate = next(one for one in life.candidates if one.key == trial.candidate)
    if candidate.role == PROPOSE:
        return Score(trial, value=1.0, answer=f"<prompt>Think well {candidate.name}</prompt>")
    words = len(candidate.document["prompt"]["system"].split())
    is_right = (trial.case * 7 + words * 3) % 11 < words
    told = Judgement("numeric", float(is_right), is_right, "found another number")
    given: dict[str, Any] = {"judgements": (told,), "fields": {"q": "2 + 2"}}
    return Score(trial, value=float(is_right), answer="x" * words, **given)


def live(life, answer=judged, step=7):
    session, history = Session(life), []
    while not session.is_finished:
        scores = [answer(life, trial) for trial in session.plan(step)]
        history += scores
        session.absorb_fresh(scores)
    return history


def lineage(life):
    return [
        (one.number, [(each.key, each.birth, fitness) for each, fitness in one.standing])
        for one in life.generations
    ]


WAYS: list[dict[str, Any]] = [
    {},
    {"operators": ["words", *WRITERS]},
    {"operators": [WRITERS[0]], "gate": 2},
    {"operators": ["words", WRITERS[0], WRITERS[1]], "kinship": 0.03, "elite_size": 1},
    {"is_random_search": True},
    {"elite_size": 0, "selection": "rank", "crossover": "uniform"},
]


HYBRID_WAYS: list[tuple[Any, ...]] = [("sections",), ("words",), ("sections", "reflect")]


@table(
    *((evolution(**way), 4) for way in WAYS),
    *((hybrid(operators), 6) for operators in HYBRID_WAYS),
)
def test_a_replay_lives_the_same_life_from_any_point(spec, generations):
    first = spec.open_strategy(CASES)
    history = live(first)
    assert len(first.generations) == generations
    assert len({score.trial[1:] for score in history}) == len(history)  # nothing is asked twice
    assert [score.trial.position for score in history] == list(range(len(history)))
    for asked in (1, 10, len(history) // 2, len(history) - 1):
        life = spec.open_strategy(CASES)
        session = Session(life)
        session.replay(asked, history[: asked - asked % 3])  # the last ones were lost
        assert session.first_difference(asked) is None
        session.absorb_fresh(one for one in history[asked - asked % 3 : asked])
        while not session.is_finished:
            session.absorb_fresh([judged(life, trial) for trial in session.plan(100)])
        assert lineage(life) == lineage(first)
        assert [one.key for one in life.candidates] == [one.key for one in first.candidates]


def test_the_best_live_on_and_the_report_tells_when_another_is_fitter_by_its_own_answers():
    life = evolution().open_strategy(12)
    live(life)
    for before, after in zip(life.generations, life.generations[1:], strict=False):
        best = [one.key for one, _ in before.standing[:2]]
        assert set(best) <= {one.key for one, _ in after.standing}
    fittest = [max(one.fitnesses) for one in life.generations]
    assert fittest == sorted(fittest)
    assert life.candidates[known(life.best)].key == life.generations[-1].standing[0][0].key
    report = report_of(life, told=0, max_generations=4)
    assert not report.is_best_by_kin
    best_one = report.population[0]
    fitter = best_one._replace(fitness=known(best_one.fitness)._replace(total=2.0))
    assert report._replace(population=[best_one, fitter]).is_best_by_kin


def test_all_of_a_generation_are_measured_on_the_same_cases():
    def better_and_better(life, trial):
        name = next(one.name for one in life.candidates if one.key == trial.candidate)
        born = int(name[1:].partition(".")[0])  # as in g7.03, or p2 of a first prompt
        return replace(judged(life, trial), value=0.05 * born)

    life = evolution(max_generations=13).open_strategy(12)
    live(life, better_and_better)
    assert [one.cases for one in life.generations] == [6] * 11 + [9] * 2
    for one, _ in life.generations[-1].standing:
        assert len(one.samples) == 9


@table(
    lambda score: Score(score.trial, error="server_error"),
    lambda score: replace(score, answer="<prompt>Say {{expected}}</prompt>"),
)
def test_a_writer_that_fails_or_names_what_it_may_not_leaves_the_child_to_chance(spoil):
    def spoilt(life, trial):
        score = judged(life, trial)
        return spoil(score) if score.answer.startswith("<prompt>") else score

    life = evolution(operators=["rewrite"]).open_strategy(12)
    live(life, spoilt)
    born = {one.birth.operator for each in life.generations for one, _ in each.standing}
    assert born == {"seed", "mutation"}
    assert "{{expected}}" not in str([one.document.get("prompt") for one in life.candidates])


def test_failed_trials_are_never_best_and_end_it_when_there_is_nothing_else():
    def one_fails(life, trial):
        fails = trial.candidate == life.candidates[1].key
        return Score(trial, error="timeout") if fails else judged(life, trial)

    life = evolution(max_generations=1).open_strategy(12)
    live(life, one_fails)
    assert life.generations[0].standing[-1][0].key == life.candidates[1].key
    assert life.generations[0].standing[-1][1] is None
    life = hybrid(max_episodes=2).open_strategy(CASES)
    live(life, one_fails)
    failed = life.candidates[1].key
    standing = [pair for generation in life.generations for pair in generation.standing]
    assert {fitness for one, fitness in standing if one.key == failed} == {None}
    assert life.candidates[known(life.best)].key != failed
    for dead in (evolution().open_strategy(CASES), hybrid().open_strategy(CASES)):
        live(dead, lambda _, trial: Score(trial, error="timeout"))
        assert dead.best is None
        assert "all of its trials failed" in dead.reason


def test_a_child_that_fails_at_the_gate_is_tried_no_further():
    def worse(life, trial):
        """Only the first prompts are any good."""
        firsts = [one.key for one in life.candidates[:3]]
        return replace(judged(life, trial), value=float(trial.candidate in firsts))

    life = evolution(operators=["rewrite"], gate=3).open_strategy(12)
    live(life, worse)
    people = life._people.by_key.values()
    assert {len(one.samples) for one in people if one.birth.operator == "rewrite"} == {3}


async def test_reflecting_finds_a_better_prompt(simulator, cases):
    writers = [{"reflect": {**WRITER, "weight": 2}}, {"combine": WRITER}]
    options = {"preset": "reflective", "elite_size": 4, "population_size": 8}
    spec = evolution(writers, **options, max_generations=6)
    many = [replace(case, position=n) for n, case in enumerate(cases * 2)]
    async with Client() as client:
        provider = PROVIDERS["simulated"](client, "simulated", f"{simulator.url}/v1")
        at_once = await run_here(spec, many, {"simulated": provider})
        limits = spec.limits.model_copy(update={"schedule": "sequential", "max_concurrent": 1})
        slow = spec.model_copy(update={"limits": limits})
        assert table_of(at_once) == table_of(await run_here(slow, many, {"simulated": provider}))
    life = spec.open_strategy(len(many))
    session = Session(life)
    session.replay(len(at_once), at_once)
    assert session.plan(1) == []
    first, last = life.generations[0], life.generations[-1]
    assert max(last.fitnesses) > max(first.fitnesses) + 0.05
    assert last.standing[0][0].birth.operator in ("reflect", "combine")
    roles = Counter(one.role for one in life.candidates)
    assert roles[PROPOSE] > 0
    assert roles[EVALUATE] > 8


def test_the_best_is_confirmed_beside_the_best_of_the_first_prompts():
    spec = evolution().model_copy(update={"held_out": 4.0})
    begun = spec.begin(16)
    session = Session(begun)
    trials: list[Trial] = []
    while not session.is_finished:
        asked = session.plan(7)
        trials += asked
        session.absorb_fresh([judged(begun, trial) for trial in asked])
    life = life_in(begun)
    assert life.candidates[known(life.rival)].name in {"p0", "p1", "p2"}
    keys = [confirmation_key(life.candidates[known(one)].key) for one in {life.best, life.rival}]
    confirming = [trial for trial in trials if trial.candidate in keys]
    assert Counter(trial.candidate for trial in confirming) == dict.fromkeys(keys, 4)
    held_out = {trial.case for trial in confirming}
    assert not held_out & {trial.case for trial in trials if trial not in confirming}
    assert len(confirming) <= spec.count_confirming(16)


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
    one_by_one = [writer for born in range(12) for writer in toolbox.in_turn(1, born)]
    assert [writer.name if writer else "" for writer in one_by_one] == turns
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
