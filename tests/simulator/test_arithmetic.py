"""Which arithmetic questions the simulated provider understands."""

import pytest

from workers.simulator.answers.arithmetic import find_problem, show_number


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What is 17 + 25?", "42"),
        ("17+25", "42"),
        ("What is 9-2?", "7"),
        ("Compute (3 + 4) * 2", "14"),
        ("2 + 3 * 4 =", "14"),
        ("what's 84 divided by 7?", "12"),
        ("1,200 \N{MULTIPLICATION SIGN} 3", "3600"),
        ("6 x 7", "42"),
        ("What is 7 plus 8?", "15"),
        ("What is -3 - -4?", "1"),
        ("What is 1 / 3?", "0.333333"),
        ("What is 0.5 + 0.25?", "0.75"),
        ("(what is 2 + 3)", "5"),
        ("What is the sum of 17 and 25?", "42"),
        ("What is the difference between 42 and 17?", "25"),
        ("Subtract 5 from 17.", "12"),
        ("Multiply 6 by 7.", "42"),
        ("What is 15% of 80?", "12"),
        ("What is half of 42?", "21"),
        ("Q: 2 + 2? A: 4. Q: 17 + 25?", "42"),
        ("What is 17 + 25? Answer in 1-2 sentences.", "42"),
        ("Ann has 17 apples and buys 25 more. How many does she have now?", "42"),
        ("Tom had 42 marbles and gave 17 to Sue. How many are left?", "25"),
        ("Tom had 42 marbles and 17 rolled away. How many are left?", "25"),
        ("There are 6 boxes with 7 pencils each. How many pencils in total?", "42"),
        ("A farmer plants 8 rows of 12 trees. How many trees?", "96"),
        ("Tickets cost 7 dollars each. How much do 6 tickets cost?", "42"),
        ("24 sweets are shared equally among 4 children. How many does each get?", "6"),
        ("Ann has 17 apples and Bob has 25. How many more does Bob have than Ann?", "8"),
        ("Sam has 12 pens, buys 8 more and then loses 5. How many pens has he?", "15"),
    ],
)
def test_a_question_is_understood_and_solved(question, value):
    problem = find_problem(question)
    assert problem is not None
    assert show_number(problem.value) == value


@pytest.mark.parametrize(
    "text",
    [
        "Hello",
        "We are open 24/7",
        "Write 1-2 sentences about spring",
        "The year 2024 was warm",
        "What is 5 / 0?",
        "1" * 100_000,
        "999999999999999*" * 500 + "9",
        "(" * 100_000 + "1",
    ],
    ids=["greeting", "24/7", "range", "year", "zero", "digits", "endless", "brackets"],
)
def test_what_is_no_sum_is_left_alone(text):
    assert find_problem(text) is None
