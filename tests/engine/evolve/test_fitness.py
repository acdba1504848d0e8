"""How fit a prompt is, on which cases, and when an evolution ends."""

import pytest

from workers.engine.kinds.evolve.fitness import Fitness, Sample, Weights, fitness_of
from workers.engine.kinds.evolve.problems import STAGES, cases_in, order_of_cases
from workers.engine.kinds.evolve.stopping import Progress, Rules, reason_to_stop

RULES = Rules(target_fitness=0.85, max_generations=100, patience=20, least_diversity=0.05)


def right(length: int = 100) -> Sample:
    return Sample(1.0, True, length)


def wrong(length: int = 100) -> Sample:
    return Sample(0.0, False, length)


def known(samples: list[Sample], words: int) -> Fitness:
    found = fitness_of(samples, words, Weights())
    assert found is not None
    return found


FAILED = Sample(None, False, 0)


def test_it_is_the_weighted_sum_of_its_parts() -> None:
    found = known([right(), right(), wrong(), wrong()], 10)
    assert (found.accuracy, found.consistency, found.efficiency, found.diversity) == (0.5, 1, 1, 0)
    assert found.total == pytest.approx(0.7 * 0.5 + 0.15 + 0.1)


def test_long_prompts_and_long_answers_lose() -> None:
    answers = {length: known([right(length)] * 4, 10) for length in (150, 650)}
    assert (answers[150].efficiency, answers[650].efficiency) == (1.0, 0.5)
    assert known([right()] * 4, 50).penalty == pytest.approx(0.2)
    assert known([right()] * 4, 5000).penalty == 0.5


def test_answers_that_vary_a_little_are_worth_most() -> None:
    def bonus(*lengths: int) -> float:
        return known([right(length) for length in lengths], 1).diversity

    assert bonus(100, 100) == 0.0
    assert bonus(70, 130) == pytest.approx(1.0)
    assert bonus(1, 1000) == 0.0


def test_failed_calls_are_no_wrong_answers() -> None:
    assert known([right(), wrong()], 1) == known([right(), wrong(), FAILED], 1)
    assert fitness_of([right(), FAILED, FAILED], 1, Weights()) is None
    assert fitness_of([FAILED], 1, Weights()) is None
    assert fitness_of([], 1, Weights()) is None


def test_it_is_never_below_nothing() -> None:
    assert known([wrong(0), wrong(0)], 1000).total == 0.0


def test_later_sets_of_cases_contain_the_earlier_ones() -> None:
    counts = [cases_in(generation, 100, STAGES) for generation in (0, 10, 11, 20, 21, 99)]
    assert counts == [50, 50, 75, 75, 100, 100]
    assert [cases_in(0, n, STAGES) for n in (1, 2, 3)] == [1, 1, 2]
    assert cases_in(0, 100, ()) == 100
    order = order_of_cases(100, 7)
    assert sorted(order) == list(range(100))
    assert order == order_of_cases(100, 7) != order_of_cases(100, 8)


RISING = [0.02 * n for n in range(30)]


@pytest.mark.parametrize(
    ("best", "diversity", "alive", "words"),
    [
        (RISING, 0.5, 9, ""),
        (RISING, 0.5, 0, "all of its trials failed"),
        ([0.3, 0.85], 0.5, 9, "reached the target of 0.85"),
        ([0.001 * n for n in range(100)], 0.5, 9, "all 100 generations are done"),
        ([0.5] * 21, 0.5, 9, "nothing better by 0.01 for 20 generations"),
        (RISING, 0.01, 9, "the genomes are alike"),
        ([*RISING, *[0.58] * 10], 0.5, 9, "a plateau"),
    ],
)
def test_each_rule_ends_it(best: list[float], diversity: float, alive: int, words: str) -> None:
    found = reason_to_stop(Progress(best, diversity, alive), RULES)
    assert words in found
    assert bool(found) == bool(words)


def test_small_gains_add_up() -> None:
    slow = [0.5 + 0.004 * n for n in range(25)]
    assert reason_to_stop(Progress(slow, 0.5, 9), RULES) == ""


def test_the_trials_may_be_limited() -> None:
    limited = RULES._replace(max_evaluations=500)
    assert "500 of at most 500 trials" in reason_to_stop(Progress([0.1], 0.5, 9, 500), limited)
    assert reason_to_stop(Progress([0.1], 0.5, 9, 499), limited) == ""
