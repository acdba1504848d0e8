"""The simulated mutator rewrites by operator; the simulated target is confused by some of it."""

import pytest

from workers.engine.kinds.mutate.operators import OPERATORS, WritingOperator
from workers.engine.kinds.mutate.rewriting import messages_for, read_rewritten
from workers.simulator.answers.arithmetic import find_problem
from workers.simulator.answers.texts import Prompt, answer_to

PRODUCT = "There are 3 boxes with 4 pens each. How many pens are there in total?"
DIFFERENCE = "What is 9 - 2?"
STORY = "Ann has 5 pens and buys 4 more. How many pens are there now?"
QUERIES = (PRODUCT, DIFFERENCE, STORY)
WRITING = {
    name: one.task for name, one in OPERATORS.ours.items() if issubclass(one, WritingOperator)
}


def rewrite(name: str, query: str) -> str:
    system, user = (message["content"] for message in messages_for(WRITING[name], query))
    return read_rewritten(answer_to(Prompt(system, user, "sim-large", seed=0)))


def is_right(query: str, expected: str) -> bool:
    """Of easy sums with small numbers, asked with care: nobody is wrong for another reason."""
    system = "Work carefully, step by step, and check your result."
    return f"is {expected}." in answer_to(Prompt(system, query, "sim-large", seed=1))


@pytest.mark.parametrize("name", sorted(WRITING))
def test_a_rewrite_keeps_what_is_asked(name: str) -> None:
    for query in QUERIES:
        before, after = find_problem(query), find_problem(rewrite(name, query))
        assert before is not None
        assert after is not None
        assert after.value == before.value
        assert rewrite(name, query) == rewrite(name, query)


def test_rewrites_do_not_pile_up() -> None:
    assert rewrite("shorten", rewrite("passive_voice", PRODUCT)) == PRODUCT
    assert rewrite("make_indirect", rewrite("passive_voice", PRODUCT)) == rewrite(
        "make_indirect", PRODUCT
    )


@pytest.mark.parametrize(
    ("name", "confused"),
    [
        ("passive_voice", PRODUCT),
        ("make_indirect", DIFFERENCE),
        ("change_perspective", STORY),
        ("paraphrase", None),
        ("add_politeness", None),
    ],
)
def test_a_wording_turns_one_sort_of_question_wrong(name: str, confused: str | None) -> None:
    expected = dict(zip(QUERIES, ("12", "7", "9"), strict=True))
    assert all(is_right(query, answer) for query, answer in expected.items())
    wrong = [
        query for query, answer in expected.items() if not is_right(rewrite(name, query), answer)
    ]
    assert wrong == ([confused] if confused else [])
