"""Text of our own documents: what stands between backticks is code."""

from django import template

from runs.api.reference import Words, words_of

register = template.Library()


@register.filter
def words(text: str) -> list[Words]:
    return words_of(text)
