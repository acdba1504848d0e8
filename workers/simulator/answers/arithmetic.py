"""Finds the arithmetic question in a message and solves it, so that answers can be truly right."""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from workers.simulator.answers.word_problems import solve_word_problem

MOST_TOKENS = 40  # numbers, signs and brackets: values stay within what a float can show
OPEN, CLOSE = r"\({0,8}", r"\){0,8}"  # bounded, or a row of brackets would take minutes
NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,15})(?:\.\d{1,15})?"
TERM = f"{OPEN} -? {NUMBER} {CLOSE}"
SPOKEN_OPERATORS = {
    "multiplied by": "*",
    "times": "*",
    "\N{MULTIPLICATION SIGN}": "*",
    "\N{MIDDLE DOT}": "*",
    "x": "*",
    "divided by": "/",
    "\N{DIVISION SIGN}": "/",
    "plus": "+",
    "added to": "+",
    "minus": "-",
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
}
_spoken = re.compile(
    rf"(?<=[\d)])\s*({'|'.join(map(re.escape, SPOKEN_OPERATORS))})\s*(?=[-(]?\d)", re.IGNORECASE
)
_expression = re.compile(rf"(?<![\w.]) {TERM} (?: \s*[-+*/]\s* {TERM} )+ (?![\w%])", re.VERBOSE)
# "1-2 sentences" and "24/7" are no sums; "What is 9-2?" and "9-2=" are.
_tight = re.compile(r"\d[-/]\d")
_asked_before = re.compile(
    r"(?:what is|what's|calculate|compute|evaluate|solve|^)[:\s]*$", re.IGNORECASE
)
_digit = re.compile(r"\d")
_tokens = re.compile(r"\d[\d,.]*|[-+*/()]")
_asked_after = re.compile(r"\s*[=?]")

# Whole numbers stay int, which is faster; a division makes an exact fraction.
Exact = int | Fraction
BINARY: dict[str, Callable[[Exact, Exact], Exact]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: Fraction(left) / right,
}

# Phrases that put the operation before the numbers: (pattern, how to write it as a sum).
PHRASES: tuple[tuple[str, str], ...] = (
    (rf"sum of ({NUMBER}) and ({NUMBER})", "{0} + {1}"),
    (rf"add ({NUMBER}) (?:and|to) ({NUMBER})", "{0} + {1}"),
    (rf"difference (?:between|of) ({NUMBER}) and ({NUMBER})", "{0} - {1}"),
    (rf"subtract ({NUMBER}) from ({NUMBER})", "{1} - {0}"),
    (rf"product of ({NUMBER}) and ({NUMBER})", "{0} * {1}"),
    (rf"multiply ({NUMBER}) (?:by|with|and) ({NUMBER})", "{0} * {1}"),
    (rf"quotient of ({NUMBER}) and ({NUMBER})", "{0} / {1}"),
    (rf"divide ({NUMBER}) by ({NUMBER})", "{0} / {1}"),
    (rf"({NUMBER}) ?(?:%|percent) of ({NUMBER})", "{0} * {1} / 100"),
    (rf"(?:double|twice) ({NUMBER})", "2 * {0}"),
    (rf"half of ({NUMBER})", "{0} / 2"),
)
_phrases = tuple((re.compile(pattern, re.IGNORECASE), form) for pattern, form in PHRASES)


class Problem(NamedTuple):
    """An arithmetic question: the sum it comes down to, and its value."""

    sum_text: str
    value: Exact


def find_problem(text: str) -> Problem | None:
    """The last arithmetic question of a text; None if there is none to be solved."""
    if not _digit.search(text):
        return None
    sum_text = _find_expression(text) or _find_phrase(text) or solve_word_problem(text)
    if sum_text is None:
        return None
    value = evaluate(sum_text)
    return None if value is None else Problem(sum_text, value)


def evaluate(sum_text: str) -> Exact | None:
    """The value of a sum; None for one too long, with open brackets, or divided by zero."""
    tokens = _tokens.findall(sum_text)
    if len(tokens) > MOST_TOKENS:
        return None
    try:
        value, rest = _read_sum(tokens, 0)
    except (IndexError, ValueError, ZeroDivisionError):
        return None
    return value if rest == len(tokens) else None


def show_number(value: Exact) -> str:
    """A value as people write it: 42, 2.5, 0.333333."""
    if value.denominator == 1:
        return str(value.numerator)
    return f"{float(value):.6f}".rstrip("0").rstrip(".")


def _find_expression(text: str) -> str | None:
    spoken = _spoken.sub(lambda found: f" {SPOKEN_OPERATORS[found[1].lower()]} ", text)
    usable = [found for found in _expression.finditer(spoken) if _is_asked(found, spoken)]
    if not usable:
        return None
    return _close_brackets(usable[-1].group())


def _is_asked(found: re.Match[str], text: str) -> bool:
    if not _tight.search(found.group()):
        return True
    before, after = text[max(0, found.start() - 20) : found.start()], text[found.end() :]
    return bool(_asked_before.search(before) or _asked_after.match(after))


def _close_brackets(expression: str) -> str:
    """Drops brackets of the sentence around the sum, as in "(what is 2 + 3)"."""
    surplus = expression.count(")") - expression.count("(")
    if surplus > 0 and expression.endswith(")" * surplus):
        return expression[:-surplus]
    if surplus < 0 and expression.startswith("(" * -surplus):
        return expression[-surplus:]
    return expression


def _find_phrase(text: str) -> str | None:
    found = [
        (match.start(), form.format(*match.groups()))
        for pattern, form in _phrases
        for match in pattern.finditer(text)
    ]
    return max(found)[1] if found else None


class _Reading(NamedTuple):
    value: Exact
    position: int


def _read_sum(tokens: list[str], position: int) -> _Reading:
    return _read_chain(tokens, position, "+-", _read_product)


def _read_product(tokens: list[str], position: int) -> _Reading:
    return _read_chain(tokens, position, "*/", _read_number)


def _read_chain(
    tokens: list[str],
    position: int,
    operators: str,
    read_operand: Callable[[list[str], int], _Reading],
) -> _Reading:
    value, position = read_operand(tokens, position)
    while position < len(tokens) and tokens[position] in operators:
        operator = tokens[position]
        right, position = read_operand(tokens, position + 1)
        value = BINARY[operator](value, right)
    return _Reading(value, position)


def _read_number(tokens: list[str], position: int) -> _Reading:
    token = tokens[position]
    if token == "-":
        value, position = _read_number(tokens, position + 1)
        return _Reading(-value, position)
    if token != "(":
        return _Reading(_read_digits(token), position + 1)
    value, position = _read_sum(tokens, position + 1)
    if tokens[position] != ")":
        raise ValueError(f"Expected a closing bracket, found {tokens[position]!r}.")
    return _Reading(value, position + 1)


def _read_digits(token: str) -> Exact:
    digits = token.replace(",", "")
    return int(digits) if digits.isdigit() else Fraction(digits.rstrip("."))
