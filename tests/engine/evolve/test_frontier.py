"""Who becomes a parent, and how a generation of the preset reflective goes on."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tests.engine.evolve.test_life import Life, evolution, judged, live
from workers.engine.kinds.evolve.fitness import Sample, Weights
from workers.engine.kinds.evolve.frontier import best_at, draw_complement
from workers.engine.kinds.evolve.population import Birth, Individual, ranked
from workers.engine.kinds.evolve.stopping import Progress, Rules, reason_to_stop
from workers.engine.records import PROPOSE, Candidate, Score, Trial

PLACES = [(case, 0) for case in range(6)]


def individual(name: str, values: Sequence[float | None], generation: int = 0) -> Individual:
    samples = {
        place: Sample(value, value == 1.0, 5) for place, value in zip(PLACES, values, strict=True)
    }
    document = {"prompt": {"system": name}}
    candidate = Candidate(name, name, document)
    return Individual(candidate, (name,), 1, Birth(generation, "seed"), samples)


@pytest.mark.parametrize(
    ("tables", "shares"),
    [
        pytest.param([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0]], [3, 2], id="each knows something"),
        pytest.param([[1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0]], [3, 0], id="one adds nothing"),
        pytest.param(
            [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [1, 0, 1, 0, 0, 0]],
            [2, 2, 0],
            id="two together know all that the third knows",
        ),
        pytest.param([[0, 0, 0, 0, 0, 0]] * 2, [1, 1], id="nobody knows anything: all alike"),
        pytest.param([[1, None, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]], [1, 1], id="a failure"),
    ],
)
def test_parents_are_those_that_know_what_no_better_one_knows(
    tables: list[list[float | None]], shares: list[float]
) -> None:
    alive = [individual(str(number), values) for number, values in enumerate(tables)]
    assert best_at(alive, PLACES) == shares


def test_the_second_parent_knows_what_the_first_does_not() -> None:
    first = individual("first", [1, 1, 1, 0, 0, 0])
    same, other = individual("same", [1, 1, 1, 0, 0, 0]), individual("other", [0, 0, 0, 1, 0, 0])
    drawn = {draw_complement(Random(n), first, [same, other], PLACES).key for n in range(20)}
    assert drawn == {"other"}
    assert draw_complement(Random(1), first, [same], PLACES) is same


def test_of_equals_the_younger_comes_first_and_the_failed_last() -> None:
    old, young = individual("old", [1] * 6), individual("young", [1] * 6, generation=3)
    better, failed = individual("better", [1] * 6), individual("failed", [None] * 6, generation=4)
    worse = individual("worse", [0, 1, 1, 1, 1, 1], generation=5)
    order = ranked([failed, worse, old, young, better], PLACES, Weights.of_score_alone())
    assert [one.key for one, _ in order] == ["young", "old", "better", "worse", "failed"]


def reflective(**options: Any) -> Life:
    writers = [{"reflect": {"weight": 2}}, "combine"]
    given = {"preset": "reflective", "max_generations": 6, "population_size": None}
    return evolution(writers, **{**given, "elite_size": None, **options}).open_strategy(20)


def test_the_first_generation_of_writers_is_the_first_prompts_alone() -> None:
    life = reflective()
    live(life)
    assert [one.candidate.name for one, _ in life.generations[0].standing] != []
    assert {one.birth.operator for one, _ in life.generations[0].standing} == {"seed"}
    assert len(life.generations[0].standing) == 3
    spec = evolution(["reflect"], preset="reflective", population_size=None, elite_size=None)
    bounds = spec.bound_trials(20)
    assert bounds.least == 3 * 10
    assert bounds.least <= len(live(spec.open_strategy(20))) <= bounds.most + spec.count_told(20)


def test_a_gate_has_other_cases_in_every_generation() -> None:
    tried: dict[int, set[int]] = {}

    def worse(life: Life, trial: Trial) -> Score:
        one = next(one for one in life.candidates if one.key == trial.candidate)
        if one.role != PROPOSE and one.name.startswith("g"):
            tried.setdefault(int(one.name[1:].partition(".")[0]), set()).add(trial.case)
            return replace(judged(life, trial), value=0.0)
        score = judged(life, trial)
        return score if one.role == PROPOSE else replace(score, value=1.0)

    life = reflective(gate=3)
    live(life, worse)
    assert all(len(cases) == 3 for cases in tried.values())
    assert len(set(map(frozenset, tried.values()))) > 1


def test_a_turn_goes_to_a_writer_that_has_what_it_needs() -> None:
    """With one prompt alive, two cannot be combined: it is reflected on instead."""
    spec = evolution(["combine", "reflect"], max_generations=2, fill="none", least_diversity=0.0)
    alone = spec.model_copy(update={"prompts": spec.prompts[:1]}).open_strategy(12)
    live(alone)
    names = Counter(one.name.partition(" ")[0] for one in alone.candidates if one.role == PROPOSE)
    assert set(names) == {"reflect"}


def test_without_patience_a_plateau_does_not_end_it() -> None:
    flat = Progress([0.5] * 30, 1.0, 3, 100)
    assert "plateau" in reason_to_stop(flat, Rules(None, 100, 50, 0.0))
    assert reason_to_stop(flat, Rules(None, 100, None, 0.0)) == ""
