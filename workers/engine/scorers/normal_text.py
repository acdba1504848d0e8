"""Texts that differ only in how they are written, made equal."""

import unicodedata
from string import punctuation

ASCII_MARKS = {ord(mark): None for mark in punctuation if unicodedata.category(mark)[0] == "P"}
MOST_ACCENTS = 30  # on one letter, as in Unicode's stream-safe format; no language has more


def without_punctuation(text: str) -> str:
    """Without full stops, commas, quotation marks, brackets and the like of all scripts. Symbols
    such as $, + and % stay: 5 and $5 are not the same."""
    if text.isascii():
        return text.translate(ASCII_MARKS)
    return "".join(mark for mark in text if unicodedata.category(mark)[0] != "P")


def with_single_spaces(text: str) -> str:
    return " ".join(text.split())


def in_one_form(text: str) -> str:
    """One form for the characters that Unicode has several for (NFKC)."""
    return text if text.isascii() else unicodedata.normalize("NFKC", with_few_accents(text))


def with_few_accents(text: str) -> str:
    """Sorting the accents on one letter takes the square of their number: 30,000 took a second."""
    kept, accents = [], 0
    for mark in text:
        accents = accents + 1 if unicodedata.combining(mark) else 0
        if accents <= MOST_ACCENTS:
            kept.append(mark)
    return "".join(kept)
