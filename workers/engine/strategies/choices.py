"""How candidates are alike: which model each of them has at each step."""

from collections.abc import Sequence

from workers.engine.records import Candidate

Choice = tuple[str, ...]  # a label for each step


def choices_of(candidates: Sequence[Candidate]) -> list[Choice]:
    """A candidate that has no steps is one choice of its own."""
    return [
        tuple(candidate.document.get("choices", {"": candidate.name}).values())
        for candidate in candidates
    ]


def difference(one: Choice, other: Choice) -> int:
    """In how many steps they differ."""
    return sum(a != b for a, b in zip(one, other, strict=True))
