"""How much time scoring takes: what judges at once must not be what a run waits for."""

import time
from collections import Counter
from random import Random
from typing import Any

import pytest

from workers.engine.judgements import judge_if_quick
from workers.engine.records import Case, Facts
from workers.engine.scorers import SCORERS, Scorer, build_scorer

ANSWERS = 10_000
# How often the words of all answers could be counted meanwhile. Where that takes 0.05 s, as it does
# on a small machine of 2026, the bar is 2 s of processor time.
MOST_COUNTINGS = 40
ROUNDS = 4  # the best of them counts: the first loads libraries and compiles patterns
OPTIONS: dict[str, dict[str, Any]] = {
    "regex": {"pattern": r"is (\d+)"},
    "json_schema": {"schema": {"type": "object", "required": ["answer"]}},
    "latency": {"milliseconds": 100},
    "cost": {"dollars": 0.01},
}
EXPECTED = {"choice": "B", "tool_call": "look_up"}  # of the others: a number
WORDS = (
    "the",
    "sum",
    "of",
    "two",
    "numbers",
    "is",
    "what",
    "we",
    "want",
    "so",
    "add",
    "them",
    "up",
)


def make_answers() -> list[tuple[str, Case]]:
    random = Random(1)
    return [
        (
            f"{' '.join(random.choices(WORDS, k=30))}. So it is {number % 99}.",
            Case(number, {"expected": str(random.randrange(99))}),
        )
        for number in range(ANSWERS)
    ]


def seconds_of(name: str, answers: list[tuple[str, Case]]) -> float:
    scorer, facts = build_scorer(name, OPTIONS.get(name, {})), Facts(50.0, 0.001)
    assert isinstance(scorer, Scorer)
    special = Case(0, {"expected": EXPECTED[name]}) if name in EXPECTED else None
    started = time.process_time()
    for answer, case in answers:
        assert judge_if_quick(scorer, answer, special or case, facts) is not None
    return time.process_time() - started


def seconds_of_counting(answers: list[tuple[str, Case]]) -> float:
    started = time.process_time()
    for answer, _ in answers:
        Counter(answer.split())
    return time.process_time() - started


@pytest.mark.alone
def test_every_scorer_judges_ten_thousand_answers_in_the_time_of_forty_countings() -> None:
    ours = SCORERS.ours.items()
    names = [name for name, scorer in ours if issubclass(scorer, Scorer) and name != "code"]
    assert len(names) >= 13
    answers = make_answers()
    # Counted beside every scorer, so that a slower minute of the machine is slow for both.
    countings = dict.fromkeys(names, float("inf"))
    for _ in range(ROUNDS):
        for name in names:
            beside = seconds_of_counting(answers)
            countings[name] = min(countings[name], seconds_of(name, answers) / beside)
    assert sum(countings.values()) <= MOST_COUNTINGS, countings
