"""Scores as a data frame of whichever library is installed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from evalsite.client.errors import ClientError

Frame = Literal["pandas", "polars", "list"]
LIBRARIES: tuple[str, ...] = ("pandas", "polars")


def frame_of(rows: list[dict[str, Any]], wanted: Frame | None) -> Any:
    """As wanted; without a wish pandas, else polars, else the rows themselves."""
    if wanted not in (None, "list", *LIBRARIES):
        raise ClientError(f"There is no frame {wanted!r}. Choose pandas, polars or list.")
    library: str = wanted or next((name for name in LIBRARIES if find_spec(name)), "list")
    if library == "list":
        return rows
    try:
        module = import_module(library)
    except ImportError:
        raise ClientError(f"{library} is not installed: pip install {library}") from None
    if library == "polars":  # columns that are empty at first have a type later
        return module.DataFrame(rows, infer_schema_length=None)
    return module.DataFrame(rows)
