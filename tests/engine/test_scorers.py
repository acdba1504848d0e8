"""What each scorer says of an answer: tables per scorer, then what all of them must withstand."""

import json
import math
from time import process_time

import pytest

from tests.engine.scoring import case, quick, value
from workers.engine.errors import ScorerFailed
from workers.engine.named import describe_options
from workers.engine.scorers import SCORERS, build_scorer, problem_with_scorer
from workers.engine.scorers.base import BaseScorer, Scorer
from workers.engine.scorers.normal_text import in_one_form
from workers.engine.scorers.regex import LARGEST_PROGRAM, compiled

QUICK = [
    name
    for name, scorer in SCORERS.items()
    if issubclass(scorer, Scorer) and not scorer.wants_facts
]


@pytest.mark.parametrize(
    ("options", "answer", "expected", "right"),
    [
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
)
def test_exact(options, answer, expected, right):
    assert value("exact", options, answer, case(expected)) == float(right)


def test_exact_says_when_nothing_of_the_expected_text_is_left():
    with pytest.raises(ScorerFailed, match="of which nothing is left without punctuation"):
        value("exact", {"ignore_punctuation": True}, "!", case("..."))


def test_accents_without_end_cost_no_more_than_other_letters():
    """Unicode's own sorting of them took the square of their number."""
    answer = "e" + "\u0301\u0316" * 500_000
    assert len(in_one_form(answer)) < 40
    assert value("exact", {"normalize_unicode": True}, answer, case("é")) == 0.0


@pytest.mark.parametrize(
    ("options", "answer", "expected", "right"),
    [
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
)
def test_contains(options, answer, expected, right):
    assert value("contains", options, answer, case(expected)) == float(right)


@pytest.mark.parametrize(
    ("options", "answer", "the_case", "right"),
    [
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
)
def test_regex(options, answer, the_case, right):
    assert value("regex", options, answer, the_case) == float(right)


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [
        ("42", "42", True),
        ("42.0", "42", True),
        ("The answer is 42.", "42", True),
        ("2 + 3 = 5", "5", True),
        ("5 apples and 3 pears make 8", "8", True),
        ("5 apples and 3 pears make 8", "5", False),
        ("First 7.\n#### 18\nThat used 3 steps.", "18", True),
        ("#### 4\n#### 5", "5", True),
        ("####1,250", "1250", True),
        ("Answer: 12 apples, in 3 bags", "12", True),
        ("**Answer:** -3 (of 10)", "-3", True),
        ("final answer is: **7** because 2", "7", True),
        ("Answer: 3\n#### 4\nbecause 5", "4", True),
        ("$1,234.50", "1234.5", True),
        ("1,234,567", "1234567", True),
        ("-$5", "-5", True),
        ("−5", "-5", True),
        ("17-25", "25", True),
        ("17 - 25 = -8", "-8", True),
        (".5", "0.5", True),
        ("1.5e3", "1500", True),
        ("3 or 4", "3", False),
        ("10.001", "10", True),
        ("10.0011", "10", False),
        ("9007199254740993", "9007199254740992", False),
        ("7", "$7", True),
        ("7", "He has 3 + 4 = 7.\n#### 7", True),
        ("no idea", "7", False),
        ("", "7", False),
        ("inf", "7", False),
        ("nan", "7", False),
        ("1e400", "7", False),
        ("-1e400 or #### 1e999999999999", "7", False),
        ("0e99999999999999999999", "0", True),
        ("1e-999999999", "0", True),
        ("9" * 1_000_000, "7", False),
    ],
)
def test_numeric(answer, expected, right):
    assert value("numeric", {}, answer, case(expected)) == float(right)


@pytest.mark.parametrize(
    ("tolerance", "answer", "right"),
    [(0, "5", True), (0, "5.0001", False), (0.5, "5.5", True), (0.5, "5.51", False)],
)
def test_the_tolerance_is_the_largest_difference(tolerance, answer, right):
    assert value("numeric", {"tolerance": tolerance}, answer, case("5")) == float(right)


def test_an_answer_without_a_number_is_wrong_and_not_an_error():
    judgement = quick("numeric", {}).judge("none of them", case("5"))
    assert judgement.reason == "no number found"
    assert judgement.value == 0.0


@pytest.mark.parametrize("expected", ["five", "inf", "nan", "1e400", "3 or 4", "4x"])
def test_a_case_that_expects_no_number_cannot_be_judged(expected):
    with pytest.raises(ScorerFailed, match=r"Case 3 expects .* not a number"):
        quick("numeric", {}).judge("5", case(expected))


@pytest.mark.parametrize("name", ["exact", "contains", "numeric"])
@pytest.mark.parametrize("expected", [None, "", "  \n"])
def test_a_case_without_an_expected_answer_says_what_to_add(name, expected):
    with pytest.raises(ScorerFailed, match="Fill in the right answer in the dataset"):
        quick(name, {}).judge("5", case(expected, question="?"))


def test_a_case_of_nothing_but_separators_cannot_be_judged():
    with pytest.raises(ScorerFailed, match="only separators"):
        quick("contains", {"separator": "|"}).judge("x", case("|"))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"question": "?"}, "has no pattern in the field 'rule'. Its fields are: question"),
        ({"rule": "("}, "'rule': The pattern '(' is not accepted"),
        ({"rule": "x" * 1_001}, "longer than 1000 characters"),
        ({"rule": "\ud800"}, "lone surrogate"),
    ],
)
def test_a_bad_pattern_in_a_case_is_an_error_of_the_trial(fields, message):
    with pytest.raises(ScorerFailed) as error:
        quick("regex", {"pattern_field": "rule"}).judge("x", case(**fields))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "sentiment",
            {},
            "Unknown scorer 'sentiment'. Choose one of: exact, contains, starts_with",
        ),
        (
            "numeric",
            {"tol": 1},
            "has no option 'tol'. It takes: tolerance, not, weight, threshold, as.",
        ),
        ("exact", {"name": "x"}, "has no option 'name'"),
        ("numeric", {"tolerance": -1}, "numeric.tolerance: Input should be greater"),
        ("numeric", {"tolerance": math.inf}, "numeric.tolerance: Input should be a finite"),
        ("numeric", {"tolerance": math.nan}, "numeric.tolerance: Input should be"),
        ("exact", {"ignore_case": "perhaps"}, "exact.ignore_case: Input should be a valid bool"),
        ("regex", {}, "exactly one of pattern and pattern_field"),
        (
            "regex",
            {"pattern": "a", "pattern_field": "b"},
            "exactly one of pattern and pattern_field",
        ),
        ("regex", {"pattern": "(a"}, "is not accepted: missing ): (a. Use RE2 syntax"),
        ("regex", {"pattern": "(?=a)"}, "no look-around"),
        ("regex", {"pattern": r"(a)\1"}, "no back-references"),
        ("regex", {"pattern": "((a{100}){100}){100}"}, "is not accepted"),
        ("regex", {"pattern": "a" * 1_001}, "regex.pattern: String should have at most 1000"),
        ("regex", {"pattern": "\ud800"}, "regex"),
    ],
)
def test_a_wrong_option_is_refused_with_what_is_allowed(name, options, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is compared below
        build_scorer(name, options)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("entry", "name", "options"),
    [
        ("exact", "exact", {}),
        ({"exact": None}, "exact", {}),
        ({"exact": {}}, "exact", {}),
        ({"numeric": {"tolerance": 0.1}}, "numeric", {"tolerance": 0.1}),
    ],
)
def test_a_configuration_names_a_scorer_alone_or_with_options(entry, name, options):
    assert SCORERS.read(entry) == (name, options)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "judge",
            "Unknown scorer 'judge'. Choose one of: exact, contains, starts_with, regex, numeric",
        ),
        ({"judge": {}}, "Unknown scorer 'judge'"),
        ({1: {}}, "Unknown scorer 1"),
        ({}, "A scorer is a name"),
        ({"exact": {}, "regex": {}}, "A scorer is a name"),
        (None, "A scorer is a name"),
        (["exact"], "A scorer is a name"),
        ({"numeric": 0.1}, "{numeric: {option: value}}, not as float"),
    ],
)
def test_any_other_entry_is_refused_with_an_example(entry, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is compared below
        SCORERS.read(entry)
    assert message in str(error.value)


def test_forms_learn_every_scorer_and_option_from_the_registry():
    described = {scorer.name: scorer for scorer in SCORERS.describe()}
    assert list(described) == list(SCORERS)
    assert all(scorer.summary for scorer in described.values())
    for scorer in described.values():
        assert all(option.help for option in scorer.options)
    shared = describe_options(BaseScorer)
    assert [option.name for option in shared] == ["not", "weight", "threshold", "as"]
    assert [option.kind for option in shared] == ["boolean", "number", "number", "text"]
    tolerance, *others = described["numeric"].options
    assert tuple(others) == shared
    assert (tolerance.name, tolerance.kind, tolerance.default) == ("tolerance", "number", 0.001)
    own = {name: [o for o in one.options if o not in shared] for name, one in described.items()}
    assert [option.kind for option in own["regex"]] == ["text", "text", "boolean"]
    assert [option.kind for option in own["rubric"]] == [
        "long text",
        "model",
        "models",
        "choice",
        "number",
    ]


OPTIONS = {
    "regex": {"pattern": r"(\d+)"},
    "json_schema": {"schema": {"type": "object"}},
    "code": {"source": "def score(answer, expected, case): return expected in answer"},
}
EXPECTED = {"choice": "B", "tool_call": '{"name": "look_up"}'}  # of the others: 5

HOSTILE_ANSWERS = {
    "NUL": "\x00 5 \x00",
    "lone surrogates": "\ud800 5 \udfff",
    "one line of a megabyte": "a" * 1_000_000,
    "a megabyte of digits and commas": "111,111," * 125_000,
    "a megabyte of answers": "answer: " * 125_000,
    "a megabyte of spaces": "#### " + " " * 1_000_000,
    "brackets": "[" * 100_000,
    "braces": "{" * 100_000,
    "minus signs": "-" * 1_000_000,
    "dots": "1." * 500_000,
    "exponents": "1e" * 500_000,
    "emoji and right-to-left": "🙂" * 1_000 + "\u202e5",
}


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("answer", HOSTILE_ANSWERS.values(), ids=HOSTILE_ANSWERS)
def test_hostile_answers_are_judged_at_once_and_can_be_stored(name, answer):
    start = process_time()
    judgement = quick(name, OPTIONS.get(name, {})).judge(answer, case(EXPECTED.get(name, "5")))
    assert process_time() - start < 2.0  # a backtracking pattern would take hours
    assert math.isfinite(judgement.value)
    stored = json.dumps(judgement.reason, ensure_ascii=False).encode()  # no lone surrogates
    assert b"\\u0000" not in stored  # which PostgreSQL refuses
    assert len(stored) < 1_000


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}", "(a*)*b$"])
def test_no_pattern_can_hang(pattern):
    start = process_time()
    quick("regex", {"pattern": pattern}).judge("a" * 40 + "b", case())
    quick("regex", {"pattern": pattern}).judge("a" * 40_000 + "!", case())
    assert process_time() - start < 0.5


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        (
            "(?:a?){1000}X" * 60,
            "is too large: RE2 makes a program of more than 10,000 instructions of it. Make "
            "counted repeats smaller, such as {10} for {1000}, or write * or +.",
        ),
        ("(?:a?){1000}X" * 5, "RE2 makes a program of more than 10,000 instructions of it."),
        (r"\pL{1,50}", "RE2 makes a program of more than 10,000 instructions of it."),
        (r"\pL{1000}", "RE2 makes a program of more than 10,000 instructions of it."),
        ("(a)" * 51, "has 51 groups. Allowed: 50. Write (?:...) for those"),
    ],
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


@pytest.mark.parametrize(
    "pattern", ["(?:a?){1000}X" * 4, r"(.{1000})", r"[^\n]{0,500}", r"\w{1,100}", "(a)" * 50]
)
def test_a_pattern_that_people_write_is_not(pattern):
    assert problem_with_scorer("regex", {"pattern": pattern}) == ""
    assert compiled(pattern, False).regexp.programsize <= LARGEST_PROGRAM


def test_a_pattern_sees_the_beginning_of_a_very_long_answer_and_says_so():
    answer = "a" * 100_000 + "z"
    judgement = quick("regex", {"pattern": "z"}).judge(answer, case())
    cut = "(of 100,001 characters the first 100,000 were searched)"
    assert judgement.reason == f"the pattern was not found in '{'a' * 80}'… {cut}"
    assert quick("regex", {"pattern": "a(a)"}).judge(answer, case("a")).reason.endswith(cut)
    assert cut not in quick("regex", {"pattern": "a"}).judge(answer[1:], case()).reason


def test_of_many_texts_that_are_missing_a_few_are_named():
    many = case("|".join(f"text {number}" for number in range(10_000)))
    judgement = quick("contains", {"separator": "|"}).judge("none", many)
    assert judgement.reason == ("does not contain 'text 0' or 'text 1' or 'text 2', nor 9,997 more")
