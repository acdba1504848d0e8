"""Who is likely the best, by the answers of a prompt and of its relatives."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.engine.evolve.test_life import Life, evolution, judged, live
from workers.engine.kinds.evolve.fitness import Sample
from workers.engine.kinds.evolve.kinship import estimate
from workers.engine.kinds.evolve.operators import OperatorChoice, Toolbox
from workers.engine.kinds.evolve.population import Birth, Individual
from workers.engine.records import PROPOSE, Candidate, Score, Trial


def prompt(name: str, right: int, of: int, *parents: str) -> Individual:
    samples = {(case, 0): Sample(float(case < right), case < right, 5) for case in range(of)}
    birth = Birth(0, "reflect" if parents else "seed", parents)
    return Individual(Candidate(name, name, {}), (name,), 1, birth, samples)


def test_a_lucky_prompt_is_found_out_by_its_children() -> None:
    lucky = [prompt("lucky", 28, 30), *(prompt(f"c{n}", 22, 30, "lucky") for n in range(3))]
    steady = [prompt("steady", 27, 30), *(prompt(f"d{n}", 27, 30, "steady") for n in range(3))]
    found = estimate([*lucky, *steady], 0.03)
    assert found["lucky"] < found["steady"]
    assert found["c0"] < found["lucky"] < 28 / 30


def test_the_fewer_cases_a_prompt_has_seen_the_more_its_parents_count() -> None:
    first = prompt("first", 30, 60)
    few, many = prompt("few", 4, 4, "first"), prompt("many", 400, 400, "first")
    found = estimate([first, few, many], 0.05)
    assert 0.5 < found["few"] < 0.75 < 0.85 < found["many"] < 1


@pytest.mark.parametrize("parents", [("a",), ("a", "b")])
def test_wide_kinship_leaves_everyone_to_their_own_answers(parents: Sequence[str]) -> None:
    all_of_them = [prompt("a", 10, 40), prompt("b", 30, 40), prompt("c", 36, 40, *parents)]
    found = estimate(all_of_them, 1.0)
    assert found["c"] == pytest.approx(0.9, abs=0.02)
    assert found["a"] == pytest.approx(0.25, abs=0.06)


def test_without_a_judged_answer_there_is_no_estimate() -> None:
    failed = prompt("failed", 0, 0, "gone")
    assert estimate([failed], 0.03) == {}
    assert set(estimate([failed, prompt("a", 1, 2)], 0.03)) == {"a"}


def test_few_wrong_answers_bring_more_cases_sooner() -> None:
    """Of 24 cases half come first; the first prompts have two wrong ones there."""

    def nearly_right(life: Life, trial: Trial) -> Score:
        score = judged(life, trial)
        is_wrong = trial.case in life._order[:2]
        told = score.judgements[0]._replace(passed=not is_wrong) if score.judgements else None
        told_of = (told,) if told else ()
        return replace(score, value=float(not is_wrong), judgements=told_of)

    for failures, cases in ((4, [12, 18, 24]), (2, [12, 12, 12])):
        spec = evolution(
            [{"reflect": {"failures": failures}}], preset="reflective", max_generations=3,
            population_size=None, elite_size=None,
        )  # fmt: skip
        life = spec.open_strategy(24)
        live(life, nearly_right)
        assert [one.cases for one in life.generations] == cases


def test_a_parent_of_which_nothing_new_comes_lets_others_have_a_turn() -> None:
    def silent(life: Life, trial: Trial) -> Score:
        """The writer repeats what it was shown; the second prompt is the best."""
        one = next(one for one in life.candidates if one.key == trial.candidate)
        if one.role == PROPOSE:
            shown = next(text for text in texts if text in one.document["messages"][1]["content"])
            asked.append(texts.index(shown))
            return Score(trial, value=1.0, answer=f"<prompt>{shown}</prompt>")
        rights = (6, 7, 5)[texts.index(one.document["prompt"]["system"])]
        is_right = life._order.index(trial.case) < rights
        told = judged(life, trial).judgements[0]._replace(passed=is_right)
        return replace(judged(life, trial), value=float(is_right), judgements=(told,))

    asked: list[int] = []
    spec = evolution(
        ["reflect"], preset="reflective", max_generations=16, population_size=None, elite_size=None
    )
    texts = [one.system for one in spec.prompts]
    life = spec.open_strategy(24)
    live(life, silent)
    assert asked[0] == 1
    assert set(asked) == {0, 1, 2}
    assert life.best is not None
    assert life.candidates[life.best].name == "p1"


def test_writers_take_turns_over_generations_of_a_single_child() -> None:
    choices = ({"reflect": {"weight": 2}}, "combine")
    toolbox = Toolbox([OperatorChoice.model_validate(one) for one in choices])
    turns = [one.name if one else "" for born in range(6) for one in toolbox.in_turn(1, born)]
    assert turns == ["reflect", "combine", "reflect"] * 2
