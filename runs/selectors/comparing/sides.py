"""The sides of a comparison: a run, one candidate of a run, or a run of this process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from runs.kinds import kind_of
from runs.models import Case, Run, RunState
from runs.selectors.comparing.cases import Cases, StoredCases, number_by_content
from workers.engine.errors import EngineError
from workers.engine.kinds import read_configuration
from workers.engine.records import EVALUATE
from workers.engine.spec.configuration import Configuration
from workers.engine.statistics.columns import Columns, Numbers, columns_in

_COMPLETE = (RunState.COMPLETED, RunState.COMPLETED_WITH_ERRORS)
# As in a Result; cached answers cost and took what their original calls did, so that runs compare.
_COLUMNS = (
    "candidate_id",
    "case_id",
    "repeat",
    "value",
    "passed",
    "position",
    "full_cost",
    "latency_ms",
)


AT_ONCE = 5_000  # rows


class NoSuchCandidateError(EngineError):
    """A run has no candidate at this position. Says which it has."""


@dataclass(frozen=True)
class Side:
    """`trials` name candidates by their place in `candidates`, and cases by their position."""

    run_id: int | None  # None: it ran in this process
    candidate: int | None  # the position of the only candidate that is compared; None: all
    name: str
    dataset: str
    digest: str  # equal where the cases are; empty: unknown
    scorers: tuple[Any, ...]
    expected: str  # the column that answers were compared with; empty: none
    repeats: int
    candidates: Mapping[str, str]  # names by key, in order
    positions: Sequence[int]  # of the candidates in their run
    cases: Cases
    trials: Columns
    is_complete: bool
    is_live: bool = False
    document: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)  # endpoints and code at launch

    @property
    def label(self) -> str:
        """As it is written in an address: 118, or 118:3."""
        number = str(self.run_id) if self.run_id else "this run"
        return number if self.candidate is None else f"{number}:{self.candidate}"

    @property
    def title(self) -> str:
        """As a sentence names it."""
        if self.run_id is None:
            return "this run"
        if self.candidate is None:
            return f"run {self.run_id}"
        return f"candidate {next(iter(self.candidates.values()), '')} (run {self.run_id})"


def scorers_of(configuration: Configuration) -> tuple[Any, ...]:
    """What they mean, whatever they are called in results."""
    scorers = configuration.scorers
    meant = [{k: v for k, v in one.options.items() if k != "as"} for one in scorers]
    return configuration.combine, *((s.name, o) for s, o in zip(scorers, meant, strict=True))


def expected_in(configuration: Configuration, columns: Sequence[str]) -> str:
    return configuration.expected_column if configuration.expected_column in columns else ""


def sides_of(chosen: Sequence[tuple[Run, int | None]]) -> list[Side]:
    """Without a join: a hundred thousand scores have few candidates, and their cases once each."""
    cases: dict[int, Numbers] = {}
    return [one_side(run, candidate, cases) for run, candidate in chosen]


def side_of(run: Run) -> Side:
    return one_side(run, None, {})


def one_side(run: Run, candidate: int | None, cases: dict[int, Numbers]) -> Side:
    """`cases`: of datasets that were read before, primary keys with positions."""
    if run.dataset_id not in cases:
        rows = Case.objects.filter(dataset=run.dataset_id)
        cases[run.dataset_id] = read_table(rows.values_list("pk", "position"))
    candidates = compared_candidates(run, candidate)
    configuration = read_configuration(run.document)
    return Side(
        run_id=run.pk,
        candidate=candidate,
        name=run.name,
        dataset=f"{run.dataset.name}@{run.dataset.version}",
        digest=run.dataset.digest,
        scorers=scorers_of(configuration),
        expected=expected_in(configuration, run.dataset.columns),
        repeats=configuration.repeats,
        candidates={key: name for _, _, key, name in candidates},
        positions=[position for _, position, _, _ in candidates],
        cases=StoredCases(run.dataset_id),
        trials=read_trials(run, [pk for pk, _, _, _ in candidates], cases[run.dataset_id]),
        is_complete=run.state in _COMPLETE,
        is_live=not run.is_finished,
        document=run.document,
        facts=run.snapshot_of,
    )


def compared_candidates(run: Run, candidate: int | None) -> list[tuple[int, int, str, str]]:
    names = ("pk", "position", "key", "name")
    if candidate is None:
        return list(kind_of(run).compared(run).values_list(*names))
    evaluated = run.candidates.filter(role=EVALUATE)
    found = list(evaluated.filter(position=candidate).values_list(*names))
    if not found:
        last = evaluated.order_by("-position").values_list("position", flat=True).first()
        has = f"Its candidates are 0 to {last}" if last is not None else "It has no candidate yet"
        raise NoSuchCandidateError(f"Run {run.pk} has no candidate {candidate}. {has}.")
    return found


def read_trials(run: Run, candidates: Sequence[int], cases: Numbers) -> Columns:
    scores = run.scores.order_by()
    if len(candidates) < run.candidates.count():
        scores = scores.filter(candidate__in=candidates)
    found = columns_in(read_table(scores.values_list(*_COLUMNS)))
    return found._replace(
        candidate=looked_up(found.candidate, candidates, range(len(candidates))),
        case=looked_up(found.case, *cases.T),
    )


def read_table(rows: "QuerySet[Any, Any]") -> Numbers:
    """Numbers as the database gives them: a hundred thousand rows wait for no converters, and only
    a few thousand are Python's at once."""
    import numpy

    sql, parameters = rows.query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        width = len(cursor.description)
        parts = [numpy.empty((0, width))]
        while read := cursor.fetchmany(AT_ONCE):
            parts.append(numpy.array(read, dtype=float))
    return numpy.concatenate(parts)


def looked_up(numbers: Numbers, known: Any, values: Any) -> Numbers:
    import numpy

    keys, values = numpy.asarray(known), numpy.asarray(values, dtype=numpy.int64)
    if not len(numbers):
        return numbers
    order = numpy.argsort(keys)
    found: Numbers = values[order[numpy.searchsorted(keys, numbers, sorter=order)]]
    return found


def with_common_cases(sides: Sequence[Side]) -> list[Side]:
    """Cases numbered alike: by position where all have the same rows, else by what they hold."""
    digests = {side.digest for side in sides}
    if len(digests) == 1 and "" not in digests:
        return list(sides)
    numbers = number_by_content([side.cases for side in sides])
    return [
        replace(side, trials=side.trials._replace(case=own[side.trials.case]))
        for side, own in zip(sides, numbers, strict=True)
    ]
