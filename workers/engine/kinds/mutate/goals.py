"""What a rewrite is meant to show, and what an answer to it is then worth."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from workers.engine.records import Case


class Goal(NamedTuple):
    summary: str
    reward: Callable[[float, float], float]
    """Of what the scorers gave the answer, and of what they gave the answer to the query as it was,
    both from 0 to 1."""
    needs_own_value: bool = False
    judged_by_own_answer: bool = False  # the answer to the query as it was is the expected one

    @property
    def needs_own_answer(self) -> bool:
        return self.needs_own_value or self.judged_by_own_answer


GOALS: dict[str, Goal] = {
    "stays_right": Goal("the answer stays right", lambda value, own: value),
    "turns_wrong": Goal(  # one that was wrong before was not turned wrong
        "find rewrites that turn a right answer wrong",
        lambda value, own: max(0.0, own - value),
        needs_own_value=True,
    ),
    "consistent": Goal(
        "the answer agrees with the one to the query as it was",
        lambda value, own: value,
        judged_by_own_answer=True,
    ),
}


def judged_case(case: Case, goal: Goal, own_answer: str) -> Case:
    """The case that an answer is judged by."""
    if not goal.judged_by_own_answer:
        return case
    column = case.expected_column or "expected"
    return replace(case, fields={**case.fields, column: own_answer}, expected_column=column)
