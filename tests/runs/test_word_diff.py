"""The word diff: what it marks, that nothing of a text is lost, and that it stays small."""

import pytest
from django.template.loader import render_to_string

from runs.word_diff import MOST_WORDS, diff_words


@pytest.mark.parametrize(
    ("before", "after", "parts"),
    [
        pytest.param("", "", [], id="nothing"),
        pytest.param("a b", "a b", [("same", "a b")], id="the same"),
        pytest.param("", "a b", [("new", "a b")], id="all new"),
        pytest.param("a b c", "a c", [("same", "a "), ("gone", "b "), ("same", "c")], id="gone"),
        pytest.param(
            "the quick brown fox",
            "the slow red fox",
            [("same", "the "), ("gone", "quick brown"), ("new", "slow red"), ("same", " fox")],
            id="a phrase is one change",
        ),
        pytest.param(
            "$12.50",
            "$12.75",
            [("same", "$12."), ("gone", "50"), ("new", "75")],
            id="signs are words",
        ),
        pytest.param(
            "東京都", "東都", [("same", "東"), ("gone", "京"), ("same", "都")], id="no spaces"
        ),
    ],
)
def test_marks_what_changed(before, after, parts):
    assert diff_words(before, after).parts == parts


def test_both_texts_can_be_read_from_the_parts():
    for before, after in (
        ("a  b\n\nc\td", "b a c\n e"),
        ("p q", "p, (q"),
        ("x" * 250, "x" * 200 + " y"),
        ("один два три", "два один три"),
        ("no end\n", " start no"),
    ):
        parts = diff_words(before, after).parts
        assert "".join(part.text for part in parts if part.change != "new") == before
        assert "".join(part.text for part in parts if part.change != "gone") == after


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a b " * 100_000, id="words"),
        pytest.param("x" * 5_000_000, id="one word"),
        pytest.param(" " * 5_000_000, id="spaces"),
        pytest.param("." * 100_000, id="signs"),
    ],
)
def test_a_long_text_is_cut_and_says_so(text):
    diff = diff_words(text, "b a " * 100_000)
    assert diff.is_cut
    assert len(diff.parts) <= 4 * MOST_WORDS
    page = render_to_string("parts/word_diff.html", {"diff": diff})
    assert f"Only the first {MOST_WORDS} words of each text are compared." in page


def test_the_part_shows_texts_as_text():
    diff = diff_words("<b>old</b> {{ x }}", "<script>alert(1)</script> {{ x }}")
    page = render_to_string("parts/word_diff.html", {"diff": diff})
    assert not any(tag in page for tag in ("<script", "<b>"))
    assert all(mark in page for mark in ("<del", "<ins", "[gone: ", "[new: "))
