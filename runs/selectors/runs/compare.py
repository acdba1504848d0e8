"""What differs between two runs over the same cases: the compare page, command and route."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from runs import formatting
from runs.kinds import kind_of
from runs.models import Case, Run, RunState
from runs.models.dataset import question_in
from workers.engine.kinds import read_configuration
from workers.engine.spec.configuration import Configuration
from workers.engine.statistics.comparing import Comparison, Pair, Result, compare, match_candidates
from workers.engine.statistics.paired import Difference

_COMPLETE = (RunState.COMPLETED, RunState.COMPLETED_WITH_ERRORS)


@dataclass(frozen=True)
class Side:
    """One of the two that are compared: a stored run, or one that ran in this process."""

    run_id: int | None
    name: str
    dataset: str
    digest: str  # equal where the cases are; empty: unknown
    scorers: tuple[Any, ...]
    expected: str  # the column that answers were compared with; empty: none
    candidates: Mapping[str, str]  # names by key, in order
    cases: Mapping[int, Mapping[str, str]]  # fields by position
    results: Sequence[Result]  # their case is the position
    is_complete: bool


class SideFacts(NamedTuple):
    run_id: int | None
    name: str
    dataset: str
    value: float | None
    n: int
    failed: int


class CandidateChange(NamedTuple):
    before: str
    after: str
    difference: Difference | None


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
    """`marks` say why the two are not fully comparable; `changed` has the largest fall first."""

    base: SideFacts
    other: SideFacts
    marks: list[str]
    overall: Difference | None
    candidates: list[CandidateChange]
    only_before: list[str]
    only_after: list[str]
    pairs: int
    regressions: int
    improvements: int
    changed: list[ChangedTrial]

    @property
    def is_comparable(self) -> bool:
        return not self.marks

    def as_record(self, most_changed: int | None = None) -> dict[str, Any]:
        """Plain values, for JSON."""
        record = asdict(self)
        for name in ("base", "other"):
            record[name] = getattr(self, name)._asdict()
        record["overall"] = self.overall._asdict() if self.overall else None
        record["candidates"] = [
            {**c._asdict(), "difference": c.difference._asdict() if c.difference else None}
            for c in self.candidates
        ]
        shown = self.changed[:most_changed]
        record["changed"] = [{**t._asdict(), "change": t.change} for t in shown]
        return {**record, "changed_total": len(self.changed), "comparable": self.is_comparable}


def compare_runs(base: Run, other: Run) -> RunComparison:
    return compare_sides(side_of(base), side_of(other))


def side_of(run: Run) -> Side:
    """Without a join: a hundred thousand scores have few candidates, and their cases once each."""
    cases = list(
        Case.objects.filter(dataset_id=run.dataset_id).values_list("pk", "position", "fields")
    )
    candidates = list(kind_of(run).compared(run).values_list("pk", "key", "name"))
    position_of = {pk: position for pk, position, _ in cases}
    key_of = {pk: key for pk, key, _ in candidates}
    scores = run.scores.filter(candidate__in=key_of) if kind_of(run).chooses else run.scores
    rows = scores.order_by("position").values_list(
        "candidate_id", "case_id", "repeat", "value", "passed", "position"
    )
    configuration = read_configuration(run.document)
    return Side(
        run_id=run.pk,
        name=run.name,
        dataset=f"{run.dataset.name}@{run.dataset.version}",
        digest=run.dataset.digest,
        scorers=scorers_of(configuration),
        expected=expected_in(configuration, run.dataset.columns),
        candidates={key: name for _, key, name in candidates},
        cases={position: fields for _, position, fields in cases},
        results=[
            Result(key_of[candidate], position_of[case], repeat, value, passed, position)
            for candidate, case, repeat, value, passed, position in rows.iterator()
            if candidate in key_of
        ],
        is_complete=run.state in _COMPLETE,
    )


def scorers_of(configuration: Configuration) -> tuple[Any, ...]:
    return tuple((scorer.name, scorer.options) for scorer in configuration.scorers)


def expected_in(configuration: Configuration, columns: Sequence[str]) -> str:
    return configuration.expected_column if configuration.expected_column in columns else ""


def compare_sides(base: Side, other: Side) -> RunComparison:
    pairs = match_candidates(base.candidates, other.candidates)
    is_same_data = bool(base.digest) and base.digest == other.digest
    before = base.results if is_same_data else by_content(base)
    after = other.results if is_same_data else by_content(other)
    found = compare(before, after, pairs)
    positions = {} if is_same_data else {key: place for place, key in content_keys(base).items()}
    names = base.candidates
    matched_before, matched_after = {p.before for p in pairs}, {p.after for p in pairs}
    candidates = [
        CandidateChange(names[pair.before], other.candidates[pair.after], difference)
        for pair, difference in found.by_candidate.items()
    ]
    candidates.sort(key=lambda change: change.difference.mean if change.difference else 0.0)
    return RunComparison(
        base=facts_of(base),
        other=facts_of(other),
        marks=marks_of(base, other, found, is_same_data),
        overall=found.overall,
        candidates=candidates,
        only_before=[name for key, name in names.items() if key not in matched_before],
        only_after=[n for key, n in other.candidates.items() if key not in matched_after],
        pairs=found.pairs,
        regressions=found.regressions,
        improvements=found.improvements,
        changed=[changed_trial(pair, base, positions) for pair in found.changed],
    )


def by_content(side: Side) -> list[Result]:
    keys = content_keys(side)
    return [result._replace(case=keys[int(result.case)]) for result in side.results]


def content_keys(side: Side) -> dict[int, str]:
    """The same for the same fields, wherever they are in a dataset; the second of two equal cases
    is not the first."""
    times: Counter[str] = Counter()
    keys: dict[int, str] = {}
    for position in sorted(side.cases):
        text = json.dumps(side.cases[position], sort_keys=True)
        times[text] += 1
        keys[position] = f"{text}#{times[text]}"
    return keys


def changed_trial(pair: Pair, base: Side, positions: Mapping[str, int]) -> ChangedTrial:
    case = pair.before.case
    position = case if isinstance(case, int) else positions[case]
    fields = base.cases.get(position, {})
    return ChangedTrial(
        candidate=base.candidates[pair.before.candidate],
        case=position,
        repeat=pair.before.repeat,
        question=question_in(fields),
        before=pair.before.value or 0.0,
        after=pair.after.value or 0.0,
        passed_before=bool(pair.before.passed),
        passed_after=bool(pair.after.passed),
        position_before=pair.before.position,
        position_after=pair.after.position,
    )


def facts_of(side: Side) -> SideFacts:
    values = [result.value for result in side.results if result.value is not None]
    return SideFacts(
        run_id=side.run_id,
        name=side.name,
        dataset=side.dataset,
        value=sum(values) / len(values) if values else None,
        n=len(values),
        failed=len(side.results) - len(values),
    )


def marks_of(base: Side, other: Side, found: Comparison, is_same_data: bool) -> list[str]:
    return list(_marks(base, other, found, is_same_data))


def _marks(base: Side, other: Side, found: Comparison, is_same_data: bool) -> Iterable[str]:
    if not is_same_data:
        yield (
            f"The datasets differ ({base.dataset} and {other.dataset}): only cases with the same "
            "fields are compared."
        )
    if base.scorers != other.scorers:
        yield "The scorers differ, so the scores cannot be compared."
    if base.expected != other.expected:
        yield (
            f"The expected answers differ (column {base.expected or 'none'} and column "
            f"{other.expected or 'none'}), so the scores cannot be compared."
        )
    for side, word in ((base, "The baseline"), (other, "The other run")):
        if not side.is_complete:
            yield f"{word} is not complete."
    if found.failed_before or found.failed_after:
        yield (
            f"{trials_text(found.failed_before + found.failed_after)} left out, since they failed "
            f"in one of the runs ({found.failed_before:,} in the baseline, "
            f"{found.failed_after:,} in the other)."
        )
    if found.unmatched:
        yield f"{trials_text(found.unmatched)} only in one of the runs."


def trials_text(number: int) -> str:
    """1 trial is, 2 trials are."""
    return formatting.counted(number, "trial is", "trials are")
