"""Cells of CSV files that no spreadsheet takes for formulas: texts come from anybody."""

from typing import Any

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\0")


def guard(cell: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it."""
    if isinstance(cell, str) and cell.startswith(FORMULA_STARTS):
        return f"'{cell}"
    return cell
