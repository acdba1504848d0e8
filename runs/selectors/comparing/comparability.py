"""Whether two sides can be compared at all: what is the same and what is not, said before any
number."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from runs import formatting
from runs.selectors.comparing.sides import Side
from workers.engine.statistics.columns import Numbers
from workers.engine.statistics.comparing import Comparison, shared_cells


class Check(NamedTuple):
    is_same: bool
    text: str


class CaseCounts(NamedTuple):
    """Of cases that the matching candidates were asked."""

    shared: int
    only_before: int
    only_after: int


def count_cases(found: Comparison) -> CaseCounts:
    shared = shared_cells(found.cells_before, found.cells_after)
    both = distinct(found.cells_before.case[shared.before])
    return CaseCounts(
        shared=both,
        only_before=distinct(found.cells_before.case) - both,
        only_after=distinct(found.cells_after.case) - both,
    )


def distinct(cases: Numbers) -> int:
    """Cases are numbered from 0, so that none is searched for."""
    import numpy

    return int(numpy.count_nonzero(numpy.bincount(cases))) if len(cases) else 0


def check_sides(base: Side, other: Side, found: Comparison, counts: CaseCounts) -> list[Check]:
    return [
        *check_cases(base, other, counts),
        *check_scoring(base, other),
        *check_launch(base, other),
        *check_trials(base, other, found),
    ]


def check_cases(base: Side, other: Side, counts: CaseCounts) -> Iterator[Check]:
    is_same_data = bool(base.digest) and base.digest == other.digest
    if is_same_data:
        yield Check(True, f"Same dataset: {base.dataset}.")
    else:
        yield Check(
            False,
            f"The datasets differ ({base.dataset} and {other.dataset}): only cases with the same "
            "fields are compared.",
        )
    asked = counts.shared + counts.only_before
    shared = f"{counts.shared:,} of {formatting.counted(asked, 'case')} shared"
    if counts.only_before:
        passes = (
            "is not counted as a pass" if counts.only_before == 1 else "are not counted as passes"
        )
        shared += f"; {counts.only_before:,} only in the base {passes}"
    if counts.only_after:
        left_out = "is" if counts.only_after == 1 else "are"
        shared += f"; {counts.only_after:,} only in {other.title} {left_out} left out"
    yield Check(
        not counts.only_before and not counts.only_after and counts.shared > 0, shared + "."
    )


def check_scoring(base: Side, other: Side) -> Iterator[Check]:
    is_same = base.scorers == other.scorers
    if not is_same:
        yield Check(False, "The scorers differ, so the scores cannot be compared.")
    versions = [scorer_versions(side) for side in (base, other)]
    changed = sorted(
        n for n in versions[0] if n in versions[1] and versions[0][n] != versions[1][n]
    )
    for name in changed:
        yield Check(False, f"The scorer {name} came to judge otherwise between the two.")
    if base.expected != other.expected:
        yield Check(
            False,
            f"The expected answers differ (column {base.expected or 'none'} and column "
            f"{other.expected or 'none'}), so the scores cannot be compared.",
        )
    elif is_same and not changed:
        yield Check(True, "Same scorers and expected answers.")


def scorer_versions(side: Side) -> Mapping[str, Any]:
    return dict(side.facts.get("scorers") or {})


def check_launch(base: Side, other: Side) -> Iterator[Check]:
    if base.repeats != other.repeats:
        yield Check(
            False,
            f"The repeats differ ({base.repeats:,} and {other.repeats:,}): each case counts once, "
            "with the mean of its repeats.",
        )
    held_out = [side.document.get("held_out") for side in (base, other)]
    if held_out[0] != held_out[1]:
        yield Check(False, "The parts of the cases that were held out differ.")
    yield from check_endpoints(base, other)


def check_endpoints(base: Side, other: Side) -> Iterator[Check]:
    """Of endpoints with the same name: a host may have moved since."""
    before, after = (side.facts.get("endpoints") or {} for side in (base, other))
    common = sorted(name for name in before if name in after)
    moved = [name for name in common if service_of(before[name]) != service_of(after[name])]
    for name in moved:
        yield Check(
            False,
            f"The endpoint {name} has changed: {service_of(before[name])} then, "
            f"{service_of(after[name])} in {other.title}.",
        )
    if common and not moved:
        yield Check(True, f"Same endpoint{'s' if len(common) > 1 else ''}: {', '.join(common)}.")


def service_of(facts: Mapping[str, Any]) -> str:
    return f"{facts.get('kind', '')} at {facts.get('host') or 'no host'}"


def check_trials(base: Side, other: Side, found: Comparison) -> Iterator[Check]:
    for side, word in ((base, "The base"), (other, upper_first(other.title))):
        if side.is_live:
            yield Check(False, f"{word} still goes on: these figures are provisional.")
        elif not side.is_complete:
            yield Check(False, f"{word} is not complete.")
    failed = found.failed_before + found.failed_after
    if failed:
        yield Check(
            False,
            f"{trials_text(failed)} left out, since they failed in one of the runs "
            f"({found.failed_before:,} in the base, {found.failed_after:,} in the other).",
        )
    if found.unmatched:
        yield Check(False, f"{trials_text(found.unmatched)} only in one of the runs.")


def trials_text(number: int) -> str:
    """1 trial is, 2 trials are."""
    return formatting.counted(number, "trial is", "trials are")


def upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]
