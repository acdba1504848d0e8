"""Advice in a prompt: it helps with one sort of question, and distracts a little from all others.

So a prompt can learn from its wrong answers what they have in common, several lessons are better
than one, and advice for questions that nobody asks does harm. It holds for any prompt, whoever
wrote it.
"""

import re
from typing import NamedTuple

HELPS = 0.8  # log-odds, with a question of its sort
DISTRACTS = 0.08  # log-odds, from any other
LARGE_DIGITS = 5  # of a sum, from which on it has large numbers

_asks_how_many = re.compile(r"\bhow (?:many|much)\b", re.IGNORECASE)


class Advice(NamedTuple):
    text: str  # as a writer would say it
    found: re.Pattern[str]  # however it is said


def advice(text: str, pattern: str) -> Advice:
    return Advice(text, re.compile(pattern, re.IGNORECASE))


ADVICE: dict[str, Advice] = {
    "stories": advice(
        "Write down the sum that the story asks for.",
        r"sum that the story|write (?:down )?(?:the|a) (?:sum|equation)|which numbers matter",
    ),
    "products": advice(
        "Multiply digit by digit and add the parts.",
        r"multiply (?:digit|place|step)|partial products|times tables?",
    ),
    "differences": advice(
        "When you subtract, borrow where it is needed.", r"\bborrow|when (?:you )?subtract"
    ),
    "quotients": advice(
        "Turn shares and percents into fractions first.", r"\bfractions?\b|percents? into"
    ),
    "chains": advice(
        "Do what is in brackets first, then one operation after the other.",
        r"\bbrackets?\b.{0,20}\bfirst\b|order of operations|one operation after",
    ),
    "large numbers": advice(
        "Line up large numbers in columns and carry.", r"\bcolumns?\b|\bcarry\b"
    ),
}


def sorts_of(question: str, sum_text: str) -> frozenset[str]:
    """A question may be of several sorts, or of none."""
    operations = sum(map(sum_text.count, "+-*/"))
    found = {
        "stories": bool(_asks_how_many.search(question)),
        "products": "*" in sum_text and "/" not in sum_text,
        "differences": "-" in sum_text.lstrip("-"),
        "quotients": "/" in sum_text,
        "chains": operations > 1 and "/" not in sum_text,
        "large numbers": sum(map(str.isdigit, sum_text)) >= LARGE_DIGITS,
    }
    return frozenset(sort for sort, is_it in found.items() if is_it)


def advice_in(prompt: str) -> frozenset[str]:
    return frozenset(sort for sort, one in ADVICE.items() if one.found.search(prompt))


def help_of(given: frozenset[str], sorts: frozenset[str]) -> float:
    """Log-odds that the advice adds for a question of these sorts."""
    return HELPS * len(given & sorts) - DISTRACTS * len(given - sorts)
