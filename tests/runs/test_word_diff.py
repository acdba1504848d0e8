"""The word diff: what it marks, that nothing of a text is lost, and that it stays small."""

from django.template.loader import render_to_string

from runs.word_diff import MOST_WORDS, diff_words

PHRASE = [("same", "the "), ("gone", "quick brown"), ("new", "slow red"), ("same", " fox")]
CHANGES: dict[tuple[str, str], list[tuple[str, str]]] = {
    ("", ""): [],
    ("a b", "a b"): [("same", "a b")],
    ("", "a b"): [("new", "a b")],
    ("a b c", "a c"): [("same", "a "), ("gone", "b "), ("same", "c")],
    ("the quick brown fox", "the slow red fox"): PHRASE,  # one change
    ("$12.50", "$12.75"): [("same", "$12."), ("gone", "50"), ("new", "75")],  # signs are words
    ("東京都", "東都"): [("same", "東"), ("gone", "京"), ("same", "都")],  # no spaces
}


def test_marks_what_changed():
    assert {texts: diff_words(*texts).parts for texts in CHANGES} == CHANGES


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


def test_a_long_text_is_cut_and_says_so():
    for text in ("a b " * 100_000, "x" * 5_000_000, " " * 5_000_000, "." * 100_000):
        diff = diff_words(text, "b a " * 100_000)
        assert diff.is_cut, text[:5]
        assert len(diff.parts) <= 4 * MOST_WORDS
    page = render_to_string("parts/word_diff.html", {"diff": diff})
    assert f"Only the first {MOST_WORDS} words of each text are compared." in page


def test_the_part_shows_texts_as_text():
    diff = diff_words("<b>old</b> {{ x }}", "<script>alert(1)</script> {{ x }}")
    page = render_to_string("parts/word_diff.html", {"diff": diff})
    assert not any(tag in page for tag in ("<script", "<b>"))
    assert all(mark in page for mark in ("<del", "<ins", "[gone: ", "[new: "))
