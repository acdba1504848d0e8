"""Cells of CSV files that no spreadsheet takes for formulas: texts come from anybody."""

from typing import Any

# The last ones are as wide as Chinese characters: some spreadsheets read them as the plain signs.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", *"\uff1d\uff0b\uff0d\uff20")


def guard(cell: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it."""
    if isinstance(cell, str) and cell.startswith(FORMULA_STARTS):
        return f"'{cell}"
    return cell
