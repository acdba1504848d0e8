"""What differs between two sides over the same cases: for the page, the command, the API, gates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from runs import formatting
from runs.models import Run
from runs.models.dataset import question_in
from runs.selectors.comparing.comparability import CaseCounts, Check, check_sides, count_cases
from runs.selectors.comparing.metrics import SCORE, MeasuredChange, measure, score_of
from runs.selectors.comparing.sides import Side, side_of, with_common_cases
from workers.engine.statistics.columns import of_candidates
from workers.engine.statistics.comparing import (
    Comparison,
    PlacePair,
    compare,
    match_candidates,
)
from workers.engine.statistics.intervals import Estimate
from workers.engine.statistics.paired import Difference
from workers.engine.statistics.separating import holm


class SideFacts(NamedTuple):
    run_id: int | None
    candidate: int | None  # the position of the only one that is compared
    name: str
    dataset: str
    value: float | None
    n: int
    failed: int
    low: float | None = None
    high: float | None = None


class CandidateChange(NamedTuple):
    """`p` is corrected for the number of candidates."""

    before: str
    after: str
    difference: Difference | None
    p: float | None

    @property
    def p_text(self) -> str:
        return formatting.p_value(self.p)

    def as_record(self) -> dict[str, Any]:
        return {
            "before": self.before,
            "after": self.after,
            "difference": self.difference._asdict() if self.difference else None,
            "p_corrected": self.p,
        }


class ChangedTrial(NamedTuple):
    candidate: str
    case: int
    repeat: int
    question: str
    before: float
    after: float
    passed_before: bool
    passed_after: bool
    position_before: int  # of the trials in their runs
    position_after: int

    @property
    def change(self) -> float:
        return self.after - self.before


@dataclass(frozen=True)
class RunComparison:
    """`checks` say first what is comparable; `metrics` have the score, then what it costs."""

    base_side: Side  # as they were given: cases by their own positions
    other_side: Side
    base_common: Side  # with cases numbered alike
    other_common: Side
    found: Comparison
    pairs_of_places: Sequence[PlacePair]
    base: SideFacts
    other: SideFacts
    checks: list[Check]
    cases: CaseCounts
    metrics: list[MeasuredChange]
    candidates: list[CandidateChange]
    only_before: list[str]
    only_after: list[str]

    @property
    def overall(self) -> Difference | None:
        return self.found.overall

    @property
    def pairs(self) -> int:
        return self.found.pairs

    @property
    def regressions(self) -> int:
        return self.found.regressions

    @property
    def improvements(self) -> int:
        return self.found.improvements

    @property
    def changed_total(self) -> int:
        return len(self.found.changed_before)

    @property
    def fallen(self) -> int:
        """Trials that scored lower."""
        return self.found.fallen

    @property
    def marks(self) -> list[str]:
        """Why the two are not fully comparable."""
        return [check.text for check in self.checks if not check.is_same]

    @property
    def is_comparable(self) -> bool:
        return not self.marks

    @property
    def is_provisional(self) -> bool:
        return self.base_side.is_live or self.other_side.is_live

    @property
    def score(self) -> MeasuredChange:
        return next(one for one in self.metrics if one.measure is SCORE)

    @property
    def verdict(self) -> str:
        """In one sentence, to be pasted somewhere."""
        base, other, score = self.base_side.title, self.other_side.title, self.score
        if score.difference is None:
            return f"{upper_first(other)} and {base} have no scored case in common."
        said = {
            "better": f"{other} scores higher than {base}",
            "worse": f"{other} scores lower than {base}",
        }.get(score.word, f"no clear difference between {other} and {base}")
        found = score.difference
        corrected = "" if score.p == found.p else " after Holm's correction"
        return (
            f"{upper_first(said)}{' so far' if self.is_provisional else ''}: {found.mean:+.3f} "
            f"(95 % interval {found.low:+.3f} to {found.high:+.3f}, p = {score.p:.3g}{corrected}, "
            f"{self.cases.shared:,} shared cases)."
        )

    def changed(self, most: int | None = None) -> list[ChangedTrial]:
        """The first of them, the largest fall first."""
        return changed_trials(self, slice(most))

    def falls(self, most: int) -> list[ChangedTrial]:
        return changed_trials(self, slice(min(most, self.fallen)))

    def as_record(self, most_changed: int | None = None) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "base": self.base._asdict(),
            "other": self.other._asdict(),
            "comparable": self.is_comparable,
            "provisional": self.is_provisional,
            "marks": self.marks,
            "verdict": self.verdict,
            "cases": self.cases._asdict(),
            "metrics": [metric.as_record() for metric in self.metrics],
            "overall": self.overall._asdict() if self.overall else None,
            "candidates": [candidate.as_record() for candidate in self.candidates],
            "only_before": self.only_before,
            "only_after": self.only_after,
            "pairs": self.pairs,
            "regressions": self.regressions,
            "improvements": self.improvements,
            "changed": [{**t._asdict(), "change": t.change} for t in self.changed(most_changed)],
            "changed_total": self.changed_total,
        }


def compare_runs(base: Run, other: Run) -> RunComparison:
    return compare_sides(side_of(base), side_of(other))


def compare_sides(base: Side, other: Side) -> RunComparison:
    """Of two: their p-values need no correction."""
    common_base, common_other = with_common_cases([base, other])
    return compare_common((base, common_base), (other, common_other))


def compare_common(base: tuple[Side, Side], other: tuple[Side, Side]) -> RunComparison:
    """Each side as it was given, and with its cases numbered as the other's are."""
    (base_side, before), (other_side, after) = base, other
    pairs = match_candidates(before.candidates, after.candidates)
    keys_before, keys_after = list(before.candidates), list(after.candidates)
    places = [PlacePair(keys_before.index(b), keys_after.index(a)) for b, a in pairs]
    found = compare(before.trials, after.trials, places)
    counts = count_cases(found)
    matched_before, matched_after = {p.before for p in pairs}, {p.after for p in pairs}
    p_values = holm([each.p if each else 1.0 for each in found.by_candidate])
    candidates = [
        CandidateChange(
            before.candidates[pair.before],
            after.candidates[pair.after],
            difference,
            p if difference else None,
        )
        for pair, difference, p in zip(pairs, found.by_candidate, p_values, strict=True)
    ]
    candidates.sort(key=lambda change: change.difference.mean if change.difference else 0.0)
    return RunComparison(
        base_side=base_side,
        other_side=other_side,
        base_common=before,
        other_common=after,
        found=found,
        pairs_of_places=places,
        base=facts_of(base_side),
        other=facts_of(other_side),
        checks=check_sides(before, after, found, counts),
        cases=counts,
        metrics=measure(
            of_candidates(before.trials, [pair.before for pair in places]),
            of_candidates(after.trials, [pair.after for pair in places]),
            found,
        ),
        candidates=candidates,
        only_before=[n for key, n in before.candidates.items() if key not in matched_before],
        only_after=[n for key, n in after.candidates.items() if key not in matched_after],
    )


def facts_of(side: Side) -> SideFacts:
    scored = side.trials.is_scored
    found: Estimate | None = score_of(side.trials.only(scored))
    return SideFacts(
        run_id=side.run_id,
        candidate=side.candidate,
        name=side.name,
        dataset=side.dataset,
        value=found.value if found else None,
        n=int(scored.sum()),
        failed=int((~scored).sum()),
        low=found.low if found else None,
        high=found.high if found else None,
    )


def changed_trials(compared: RunComparison, shown: slice) -> list[ChangedTrial]:
    """Of the base's cases; those that are not shown are not read."""
    found, base = compared.found, compared.base_side
    before = base.trials.only(found.changed_before[shown])
    after = compared.other_side.trials.only(found.changed_after[shown])
    fields = base.cases.fields_at(before.case.tolist())
    names = list(base.candidates.values())
    return [
        ChangedTrial(
            candidate=names[before.candidate[row]],
            case=int(before.case[row]),
            repeat=int(before.repeat[row]),
            question=question_in(fields.get(int(before.case[row]), {})),
            before=float(before.value[row]),
            after=float(after.value[row]),
            passed_before=bool(before.passed[row] == 1),
            passed_after=bool(after.passed[row] == 1),
            position_before=int(before.position[row]),
            position_after=int(after.position[row]),
        )
        for row in range(len(before.case))
    ]


def upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]
