"""Scorers of form and of closeness, the latter beside the libraries that define them."""

import json
import math

import pytest

from tests.engine.scoring import case, quick, value
from workers.engine.errors import ScorerFailed
from workers.engine.scorers import problem_with_scorer
from workers.engine.scorers.closeness.base import LONGEST_COMPARED

PAIRS = [
    ("The quick brown fox jumps over the lazy dog.", "A quick brown dog jumps over the lazy fox."),
    ("Paris", "Paris"),
    ("It is Paris, the capital of France", "Paris is the capital of France."),
    ("", "Paris"),
    ("nothing alike", "Über 3 Äpfel"),
    ("one two three four five", "five four three two one"),
    ("1,000.5 is 5-6, e.g. {a} &amp; b-\nc...", "1,000.5 is 5 - 6 , e.g. { a } & bc"),
    ("the the the <skipped>the", "the the cat"),
]


@pytest.mark.parametrize(
    ("options", "answer", "expected", "right"),
    [
        ({}, "Yes, because it is.", "yes", True),
        ({}, "  \nYes", "Yes", True),
        ({}, "No. Yes.", "Yes", False),
        ({"ignore_case": False}, "yes", "Yes", False),
        ({}, "", "Yes", False),
    ],
)
def test_starts_with(options, answer, expected, right):
    assert value("starts_with", options, answer, case(expected)) == float(right)


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [
        ("B", "B", True),
        ("b", "B", True),
        (" (B) ", "B", True),
        ("**B**", "(b)", True),
        ("B. Paris", "B", True),
        ("The answer is B.", "B", True),
        ("The correct answer is (C), not B.", "C", True),
        ("Answer: **D**", "D", True),
        ("A dog barks. So I choose option C", "C", True),
        ("A dog barks.", "A", False),
        ("First I thought A.\nThen:\nAnswer: B\nNo.\nAnswer: C", "C", True),
        (r"so \boxed{A} and not (B)", "A", True),
        ("It could be (A) or (B)", "B", True),
        ("F", "B", False),
        ("I'm not sure", "B", False),
        ("answer b's", "B", False),
        ("", "B", False),
    ],
)
def test_choice(answer, expected, right):
    assert value("choice", {}, answer, case(expected)) == float(right)


def test_a_choice_that_cannot_be_made_is_an_error_of_the_case():
    with pytest.raises(ScorerFailed, match="not one of the letters ABCDE"):
        quick("choice", {}).judge("B", case("Paris"))
    assert "letters from A to Z" in problem_with_scorer("choice", {"letters": "A-D"})
    assert value("choice", {"letters": "fgh"}, "G", case("g")) == 1.0


SCHEMA = json.dumps(
    {"type": "object", "required": ["name"], "properties": {"name": {"pattern": "^(a+)+$"}}}
)


@pytest.mark.parametrize(
    ("options", "answer", "right"),
    [
        ({}, '{"a": 1}', True),
        ({}, "3", True),
        ({}, "Sure: {}", False),
        ({}, 'Sure:\n```json\n{"a": 1}\n```\nDone.', True),
        ({}, "```\n[1]\n```", True),
        ({}, "```json\n[1", False),
        ({"in_block": False}, "```\n[1]\n```", False),
        ({"json_schema": SCHEMA}, '{"name": "aa"}', True),
        ({"json_schema": SCHEMA}, '{"name": "ab"}', False),
        ({"json_schema": SCHEMA}, "{}", False),
        ({"json_schema": SCHEMA}, "[" * 5000, False),
        ({}, '{"a": NaN}', False),
        ({}, "", False),
    ],
)
def test_json(options, answer, right):
    assert value("json", options, answer, case()) == float(right)


def test_json_says_what_is_wrong_and_where():
    judgement = quick("json", {"json_schema": SCHEMA}).judge('{"name": "ab"}', case())
    assert judgement.reason.startswith("name: ")
    assert "no JSON" in problem_with_scorer("json", {"json_schema": "{"})
    assert "not accepted" in problem_with_scorer("json", {"json_schema": '{"type": "thing"}'})


def test_a_schema_fetches_nothing_and_its_patterns_cannot_hang():
    elsewhere = json.dumps({"$ref": "http://127.0.0.1:9/schema.json"})
    assert "not accepted" in problem_with_scorer("json", {"json_schema": elsewhere})
    on_disk = json.dumps({"$ref": "file:///etc/passwd"})
    assert "not accepted" in problem_with_scorer("json", {"json_schema": on_disk})
    hanging = json.dumps({"name": "a" * 40 + "b"})  # a pattern that backtracks takes hours
    assert value("json", {"json_schema": SCHEMA}, hanging, case()) == 0.0


def close(name, answer, expected, **options):
    return quick(name, options).judge(answer, case(expected)).value


def test_rouge_and_bleu_are_those_of_their_libraries():
    """All pairs in one: loading the libraries takes 2 s of every process that runs a part."""
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu import sentence_bleu

    scorer = RougeScorer(["rougeL"], use_stemmer=False)
    for answer, expected in PAIRS:
        rouge = scorer.score(expected, answer)["rougeL"].fmeasure
        assert close("rouge_l", answer, expected) == pytest.approx(rouge, abs=1e-9)
        bleu = sentence_bleu(answer, [expected]).score / 100
        assert close("bleu", answer, expected) == pytest.approx(bleu, abs=1e-9)


def test_words_in_common_are_counted_as_in_squad():
    assert close("token_f1", "the Eiffel tower", "Eiffel Tower") == 1.0
    assert close("token_f1", "in Paris, France", "Paris") == pytest.approx(0.5)
    assert close("token_f1", "no no no", "no") == pytest.approx(0.5)
    assert close("token_f1", "Rome", "Paris") == 0.0
    assert close("token_f1", "the", "a") == 1.0


def test_edit_distance_counts_letters():
    assert close("edit_distance", "kitten", "sitting") == pytest.approx(1 - 3 / 7)
    assert close("edit_distance", "PARIS ", "paris") == 1.0
    assert close("edit_distance", "PARIS", "paris", ignore_case=False) == 0.0
    assert close("edit_distance", "", "abc") == 0.0


def test_the_threshold_makes_closeness_right_or_wrong():
    scorer = quick("edit_distance", {"threshold": 0.6})
    near, far = scorer.judge("kittens", case("kitten")), scorer.judge("kitten", case("sitting"))
    assert (near.passed, far.passed) == (True, False)
    assert "0.571, 0.6 is needed" in far.reason


@pytest.mark.parametrize("name", ["edit_distance", "token_f1", "rouge_l", "bleu"])
def test_long_texts_are_compared_as_far_as_they_are_read(name):
    judgement = quick(name, {}).judge("word " * LONGEST_COMPARED, case("word " * LONGEST_COMPARED))
    assert judgement.value == pytest.approx(1.0)
    assert "characters were compared" in judgement.reason
    assert math.isfinite(quick(name, {}).steps("word " * LONGEST_COMPARED, case("x")))
