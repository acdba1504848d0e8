"""Turns a small word problem ("Ann has 17 apples and buys 25 more ...") into the sum it means."""

import re
from itertools import pairwise

MOST_NUMBERS = 6  # longer texts are prose with figures, not a small problem

_number = re.compile(r"(?<![\w.-])\d{1,9}(?:\.\d{1,9})?(?![\w%]|\.\d)")
_asks_for_a_number = re.compile(
    r"how (?:many|much|far|old|long)|in total|altogether", re.IGNORECASE
)
_asks_for_a_difference = re.compile(
    r"how (?:many|much) (?:more|fewer|less|older|longer|further)\b.*\bthan\b",
    re.IGNORECASE | re.DOTALL,
)
_asks_for_the_rest = re.compile(r"\b(?:left|remain\w*|still|change)\b", re.IGNORECASE)

_gain = re.compile(
    r"\b(?:more|another|buys?|bought|gets?|got|finds?|found|receiv\w*)\b", re.IGNORECASE
)
_more = re.compile(r"\s*(?:\w+\s+)?more\b", re.IGNORECASE)

# Read in this order; the first that fits says what the next number does to the running value.
OPERATION_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("/", re.compile(r"\b(?:shar|split|divid|distribut|equally|among)\w*", re.IGNORECASE)),
    ("*", re.compile(r"\b(?:each|every|per|apiece|times as)\b", re.IGNORECASE)),
    ("*", re.compile(r"^\s*\w+\s+(?:of|with|holding|containing)\s*$", re.IGNORECASE)),
    (
        "-",
        re.compile(
            r"\b(?:g[ia]v(?:e|es|ing)|los(?:e|es|t)|eat|eats|ate|sell|sells|sold|spen[dt]s?"
            r"|us(?:e|es|ed)|take|takes|took|away|remov\w*|break|breaks|broke|fewer|less|leave|leaves"
            r"|fl(?:y|ies|ew)|pays?|paid|drops?|dropped|donat\w*|lends?|lent|fell|falls?)\b",
            re.IGNORECASE,
        ),
    ),
)


def solve_word_problem(text: str) -> str | None:
    """The sum a word problem comes down to, e.g. "(17 + 25) * 2"; None if the text is none."""
    numbers = list(_number.finditer(text))
    if not 2 <= len(numbers) <= MOST_NUMBERS or not _asks_for_a_number.search(text):
        return None
    first, second = numbers[0].group(), numbers[1].group()
    if len(numbers) == 2 and _asks_for_a_difference.search(text):
        high, low = sorted((first, second), key=float, reverse=True)
        return f"{high} - {low}"
    usual = "-" if _asks_for_the_rest.search(text) else "+"
    sum_text = first
    for position, (before, number) in enumerate(pairwise(numbers)):
        end = numbers[position + 2].start() if position + 2 < len(numbers) else len(text)
        clause = _rest_of_sentence(text[number.end() : end])
        operation = _operation(text[before.end() : number.start()], clause, usual)
        bracketed = sum_text if sum_text.isdigit() else f"({sum_text})"
        sum_text = f"{bracketed} {operation} {number.group()}"
    return sum_text


def _operation(between: str, after: str, usual: str) -> str:
    for operation, pattern in OPERATION_WORDS:
        if pattern.search(between) or (operation != "-" and pattern.search(after)):
            return operation
    is_gain = _gain.search(between) or _more.match(after)
    return "+" if is_gain else usual


def _rest_of_sentence(text: str) -> str:
    return re.split(r"[.?!;\n]|,? (?:and|then|but) ", text, maxsplit=1)[0]
