"""The pictures of an episode as the page shows them: that of a step, and what to know of them."""

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, NamedTuple

NOT_ASKED = (
    "This episode has no pictures. With pictures: first, the first episode of each mission is "
    "drawn; with pictures: all, every one."
)
DRAWS_NONE = "This environment draws no pictures."
NO_PICTURES = "There are no pictures"


class Film(NamedTuple):
    """`png` is the newest picture at this step, as Base64; empty: there is none."""

    png: str
    step: int
    width: int
    height: int
    told: str


def film_at(record: Mapping[str, Any], step: int) -> Film:
    """What is told without a picture says what to do."""
    if "pictures" not in record:
        return Film("", 0, 0, 0, NOT_ASKED)
    pictures = record["pictures"]
    if pictures is None:
        return Film("", 0, 0, 0, DRAWS_NONE)
    if not pictures["png"]:
        return Film("", 0, 0, 0, f"{NO_PICTURES}. {pictures['told']}")
    place = bisect_right(pictures["steps"], step) - 1
    return Film(
        pictures["png"][place],
        pictures["steps"][place],
        pictures["width"],
        pictures["height"],
        " ".join(part for part in (left_out(pictures["every"]), pictures["told"]) if part),
    )


def left_out(every: int) -> str:
    if every == 1:
        return ""
    return f"Every {ordinal(every)} step was drawn; more would take too much room."


def ordinal(number: int) -> str:
    last = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else last}"
