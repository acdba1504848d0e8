"""What each scorer says of an answer: a table per scorer, then what all of them must withstand."""

import json
import math
from time import process_time
from typing import Any

import pytest

from tests.engine.running import case, quick, value
from tests.harness.table import table
from workers.engine.errors import ScorerFailed
from workers.engine.records import Case
from workers.engine.scorers import build_scorer, problem_with_scorer
from workers.engine.scorers.normal_text import in_one_form

SCHEMA = json.dumps(
    {"type": "object", "required": ["name"], "properties": {"name": {"pattern": "^(a+)+$"}}}
)
# Of those that cannot be made without; and what they expect of an answer, if no number.
OPTIONS: dict[str, dict[str, Any]] = {
    "regex": {"pattern": r"(\d+)"},
    "json_schema": {"schema": {"type": "object", "required": ["answer"]}},
    "code": {"source": "def score(answer, expected, case): return expected in answer"},
    "latency": {"milliseconds": 100},
    "cost": {"dollars": 0.01},
}
EXPECTED = {"choice": "B", "tool_call": '{"name": "look_up"}'}
# Of each scorer: options, the answer, the expected one (or the case), and whether it is right.
SAID: dict[str, list[Any]] = {
    "exact": [
        ({}, "Paris", "Paris", True),
        ({}, "  Paris\n", "Paris", True),
        ({}, "Paris", " Paris ", True),
        ({}, "paris", "Paris", False),
        ({}, "Paris.", "Paris", False),
        ({}, "", "Paris", False),
        ({"ignore_case": True}, "PARIS", "paris", True),
        ({"ignore_case": True}, "STRASSE", "straße", True),
        ({"strip": False}, "Paris ", "Paris", False),
        ({"strip": False}, "Paris ", "Paris ", True),
        ({"ignore_spaces": True}, "New\n  York", " New York", True),
        ({"ignore_spaces": True}, "NewYork", "New York", False),
        ({"ignore_punctuation": True}, "“Paris”, (France)!", "Paris France.", True),
        ({"ignore_punctuation": True}, "$5", "5", False),
        ({"ignore_punctuation": True}, "C++", "C", False),
        ({"normalize_unicode": True}, "ﬁve e\u0301 ５", "five é 5", True),
        ({}, "ﬁve", "five", False),
        ({"normalize_unicode": True, "ignore_case": True}, "ＰＡＲＩＳ", "paris", True),
    ],
    "contains": [
        ({}, "It is Paris, of course.", "Paris", True),
        ({}, "it is PARIS", "paris", True),
        ({}, "It is Rome.", "Paris", False),
        ({}, "", "Paris", False),
        ({"ignore_case": False}, "it is PARIS", "Paris", False),
        ({}, "Lutetia", "Paris|Lutetia", False),
        ({"separator": "|"}, "In Lutetia", "Paris | Lutetia", True),
        ({"separator": "|"}, "In Rome", "Paris | Lutetia", False),
        ({"separator": "|"}, "In Rome", "Paris||", False),
        ({"separator": " or "}, "rome", "Paris or Rome", True),
        ({"separator": "|", "match": "all"}, "Rome and Paris", "Paris|Rome", True),
        ({"separator": "|", "match": "all"}, "only Rome", "Paris|Rome", False),
        ({"texts": ["Rome", "Paris"]}, "only Rome", None, True),
        ({"texts": ["Rome", "Paris"]}, "Athens", "Athens", False),
        ({"texts": ["Rome", "Paris"], "match": "all"}, "rome, PARIS", None, True),
        ({"texts": ["Rome", "Paris"], "match": "all"}, "only Rome", None, False),
    ],
    "starts_with": [
        ({}, "Yes, because it is.", "yes", True),
        ({}, "  \nYes", "Yes", True),
        ({}, "No. Yes.", "Yes", False),
        ({"ignore_case": False}, "yes", "Yes", False),
        ({}, "", "Yes", False),
    ],
    "regex": [
        ({"pattern": r"\d+"}, "about 40 of them", case(), True),
        ({"pattern": r"\d+"}, "none", case(), False),
        ({"pattern": r"(?m)^Result: (\d+)$"}, "So:\nResult: 12\n", case("12"), True),
        ({"pattern": r"(?m)^Result: (\d+)$"}, "So:\nResult: 13\n", case("12"), False),
        ({"pattern": r"Result: (\d+)"}, "Result: 13", case(), True),
        ({"pattern": r"Result: \d+"}, "Result: 13", case("12"), True),
        ({"pattern": r"Result:( \d+)?"}, "Result: none", case("12"), False),
        ({"pattern": "yes"}, "YES", case(), False),
        ({"pattern": "yes", "ignore_case": True}, "YES", case(), True),
        ({"pattern": "is (.*)", "ignore_case": True}, "IS Paris", case("paris"), True),
        ({"pattern_field": "rule"}, "b7", case(rule="^b[0-9]$"), True),
        ({"pattern_field": "rule"}, "c7", case(rule="^b[0-9]$"), False),
        ({"pattern": "é(.)"}, "né🙂!", case("🙂"), True),
    ],
    "json": [
        ({}, '{"a": 1}', None, True),
        ({}, "3", None, True),
        ({}, "Sure: {}", None, False),
        ({}, 'Sure:\n```json\n{"a": 1}\n```\nDone.', None, True),
        ({}, "```\n[1]\n```", None, True),
        ({}, "```json\n[1", None, False),
        ({"in_block": False}, "```\n[1]\n```", None, False),
        ({"json_schema": SCHEMA}, '{"name": "aa"}', None, True),
        ({"json_schema": SCHEMA}, '{"name": "ab"}', None, False),
        ({"json_schema": SCHEMA}, "{}", None, False),
        ({"json_schema": SCHEMA}, "[" * 5000, None, False),
        ({}, '{"a": NaN}', None, False),
        ({}, "", None, False),
    ],
    "numeric": [
        ({}, "42", "42", True),
        ({}, "42.0", "42", True),
        ({}, "The answer is 42.", "42", True),
        ({}, "2 + 3 = 5", "5", True),
        ({}, "5 apples and 3 pears make 8", "5", False),
        ({}, "First 7.\n#### 18\nThat used 3 steps.", "18", True),
        ({}, "#### 4\n#### 5", "5", True),
        ({}, "####1,250", "1250", True),
        ({}, "**Answer:** -3 (of 10)", "-3", True),
        ({}, "final answer is: **7** because 2", "7", True),
        ({}, "Answer: 3\n#### 4\nbecause 5", "4", True),
        ({}, "$1,234.50", "1234.5", True),
        ({}, "1,234,567", "1234567", True),
        ({}, "-$5", "-5", True),
        ({}, "−5", "-5", True),
        ({}, "17-25", "25", True),
        ({}, "17 - 25 = -8", "-8", True),
        ({}, ".5", "0.5", True),
        ({}, "1.5e3", "1500", True),
        ({}, "3 or 4", "3", False),
        ({}, "10.001", "10", True),
        ({}, "10.0011", "10", False),
        ({}, "9007199254740993", "9007199254740992", False),
        ({}, "7", "$7", True),
        ({}, "7", "He has 3 + 4 = 7.\n#### 7", True),
        ({}, "no idea", "7", False),
        ({}, "", "7", False),
        ({}, "nan", "7", False),
        ({}, "1e400", "7", False),
        ({}, "-1e400 or #### 1e999999999999", "7", False),
        ({}, "0e99999999999999999999", "0", True),
        ({}, "1e-999999999", "0", True),
        ({}, "9" * 1_000_000, "7", False),
        ({"tolerance": 0}, "5.0001", "5", False),
        ({"tolerance": 0.5}, "5.5", "5", True),
        ({"tolerance": 0.5}, "5.51", "5", False),
    ],
    "choice": [
        ({}, "B", "B", True),
        ({}, "b", "B", True),
        ({}, " (B) ", "B", True),
        ({}, "**B**", "(b)", True),
        ({}, "B. Paris", "B", True),
        ({}, "The answer is B.", "B", True),
        ({}, "The correct answer is (C), not B.", "C", True),
        ({}, "Answer: **D**", "D", True),
        ({}, "A dog barks. So I choose option C", "C", True),
        ({}, "A dog barks.", "A", False),
        ({}, "First I thought A.\nThen:\nAnswer: B\nNo.\nAnswer: C", "C", True),
        ({}, r"so \boxed{A} and not (B)", "A", True),
        ({}, "It could be (A) or (B)", "B", True),
        ({}, "F", "B", False),
        ({}, "I'm not sure", "B", False),
        ({}, "answer b's", "B", False),
        ({}, "", "B", False),
        ({"letters": "fgh"}, "G", "g", True),
    ],
}


@table(*SAID)
def test_an_answer_is_right_or_wrong(name):
    assert [
        (options, answer[:80], expected)
        for options, answer, expected, right in SAID[name]
        if value(name, options, answer, expected if isinstance(expected, Case) else case(expected))
        != float(right)
    ] == []


@table(
    ("exact", {"ignore_punctuation": True}, case("..."), "nothing is left without punctuation"),
    ("contains", {"separator": "|"}, case("|"), "only separators"),
    ("choice", {}, case("Paris"), "not one of the letters ABCDE"),
    *(
        ("numeric", {}, case(expected), r"Case 3 expects .* not a number")
        for expected in ("five", "inf", "nan", "1e400", "3 or 4", "4x")
    ),
    *(
        (name, {}, case(expected, question="?"), "Fill in the right answer in the dataset")
        for name in ("exact", "contains", "numeric")
        for expected in (None, "", "  \n")
    ),
    *(
        ("regex", {"pattern_field": "rule"}, case(**fields), message)
        for fields, message in (
            ({"question": "?"}, "has no pattern in the field 'rule'. Its fields are: question"),
            ({"rule": "("}, r"'rule': The pattern '\(' is not accepted"),
            ({"rule": "x" * 1_001}, "longer than 1000 characters"),
            ({"rule": "\ud800"}, "lone surrogate"),
        )
    ),
)
def test_a_case_that_cannot_be_judged_is_an_error_with_advice(name, options, the_case, message):
    with pytest.raises(ScorerFailed, match=message):
        quick(name, options).judge("5", the_case)


MANY = "|".join(f"text {number}" for number in range(10_000))
MISSING = "does not contain 'text 0' or 'text 1' or 'text 2', nor 9,997 more"
HANGING = json.dumps({"name": "a" * 40 + "b"})  # a pattern that backtracks takes hours


@table(
    ("numeric", {}, "none of them", "5", "no number found"),
    ("contains", {"separator": "|"}, "none", MANY, MISSING),
    ("json", {"json_schema": SCHEMA}, '{"name": "ab"}', None, "name: "),
    ("json", {"json_schema": SCHEMA}, HANGING, None, "name: "),
)
def test_a_wrong_answer_is_told_why(name, options, answer, expected, reason):
    judgement = quick(name, options).judge(answer, case(expected))
    assert judgement.reason.startswith(reason)
    assert judgement.value == 0.0


def test_accents_without_end_cost_no_more_than_other_letters():
    """Unicode's own sorting of them took the square of their number."""
    answer = "e" + "\u0301\u0316" * 200_000
    assert len(in_one_form(answer)) < 40
    assert value("exact", {"normalize_unicode": True}, answer, case("é")) == 0.0


@table(
    ("sentiment", {}, "Unknown scorer 'sentiment'. Choose one of: exact, contains, starts_with"),
    ("numeric", {"tol": 1}, "has no option 'tol'. It takes: tolerance, not, weight, threshold, as"),
    ("exact", {"name": "x"}, "has no option 'name'"),
    ("numeric", {"tolerance": -1}, "numeric.tolerance: Input should be greater"),
    ("numeric", {"tolerance": math.inf}, "numeric.tolerance: Input should be a finite"),
    ("numeric", {"tolerance": math.nan}, "numeric.tolerance: Input should be"),
    ("exact", {"ignore_case": "perhaps"}, "exact.ignore_case: Input should be a valid bool"),
    ("regex", {}, "exactly one of pattern and pattern_field"),
    ("regex", {"pattern": "a", "pattern_field": "b"}, "exactly one of pattern and pattern_field"),
    ("regex", {"pattern": "(a"}, "is not accepted: missing ): (a. Use RE2 syntax"),
    ("regex", {"pattern": "(?=a)"}, "no look-around"),
    ("regex", {"pattern": r"(a)\1"}, "no back-references"),
    ("regex", {"pattern": "((a{100}){100}){100}"}, "is not accepted"),
    ("regex", {"pattern": "a" * 1_001}, "regex.pattern: String should have at most 1000"),
    ("regex", {"pattern": "\ud800"}, "regex"),
    ("choice", {"letters": "A-D"}, "letters from A to Z"),
    ("json", {"json_schema": "{"}, "no JSON"),
    ("json", {"json_schema": '{"type": "thing"}'}, "not accepted"),
    ("json", {"json_schema": '{"$ref": "http://127.0.0.1:9/schema.json"}'}, "not accepted"),
    ("json", {"json_schema": '{"$ref": "file:///etc/passwd"}'}, "not accepted"),
)
def test_a_wrong_option_is_refused_with_what_is_allowed(name, options, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is compared below
        build_scorer(name, options)
    assert message in str(error.value)


@table("(a+)+$", "(a|aa)+$", "(.*a){20}", "(a*)*b$")
def test_no_pattern_can_hang(pattern):
    start = process_time()  # not what others on the machine take
    quick("regex", {"pattern": pattern}).judge("a" * 40 + "b", case())
    quick("regex", {"pattern": pattern}).judge("a" * 40_000 + "!", case())
    assert process_time() - start < 0.5  # one that backtracks would take hours


TOO_LARGE = "RE2 makes a program of more than 10,000 instructions of it."


@table(
    (
        "(?:a?){1000}X" * 60,
        f"is too large: {TOO_LARGE} Make counted repeats smaller, such as {{10}} for {{1000}}, "
        "or write * or +.",
    ),
    ("(?:a?){1000}X" * 5, TOO_LARGE),
    (r"\pL{1,50}", TOO_LARGE),
    (r"\pL{1000}", TOO_LARGE),
    ("(a)" * 51, "has 51 groups. Allowed: 50. Write (?:...) for those"),
)
def test_a_pattern_that_could_take_seconds_is_refused_whoever_brings_it(pattern, told):
    assert told in problem_with_scorer("regex", {"pattern": pattern})
    stored = quick("regex", {"pattern": pattern})  # a run of before can still be looked at
    with pytest.raises(ScorerFailed) as error:
        stored.judge("a", case())
    assert told in str(error.value)
    with pytest.raises(ScorerFailed, match="Case 3, 'rule': The pattern") as error:
        quick("regex", {"pattern_field": "rule"}).judge("a", case(rule=pattern))
    assert told in str(error.value)
