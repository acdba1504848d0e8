"""Texts that share words are near each other."""

import pytest

from workers.simulator.answers.embeddings import embed


def likeness(left, right):
    return sum(a * b for a, b in zip(embed(left), embed(right), strict=True))


def test_a_paraphrase_is_nearer_than_another_topic():
    text = "How do I bake bread at home?"
    assert likeness(text, "How can I bake bread at home") > 0.6
    assert likeness(text, "The stock market fell today") < 0.3
    assert likeness(text, text) == pytest.approx(1)


@pytest.mark.parametrize(
    "text", ["", "   ", "!!!", "\ud83d"], ids=["empty", "blank", "marks", "half"]
)
def test_odd_texts_have_a_direction_too(text):
    assert sum(value * value for value in embed(text, 8)) == pytest.approx(1)
