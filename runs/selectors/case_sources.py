"""Where the cases of a run come from: a stored dataset, or rows given in place."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from runs.models import Case as CaseRow
from runs.models import Dataset
from runs.selectors.named_parts import find_dataset
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.records import Case
from workers.engine.spec.configuration import Configuration, cases_of
from workers.engine.spec.expected import guess_expected


class CaseSource(NamedTuple):
    columns: Sequence[str]
    rows: int  # all of them, whatever a run takes
    expected: str  # the column that counts where a configuration names none
    dataset: Dataset | None = None
    given: Sequence[Mapping[str, str]] = ()


def source_of(configuration: Configuration) -> CaseSource:
    """ConfigurationError if there is no such dataset."""
    given = configuration.dataset.rows
    if given is not None:
        columns = list(given[0])
        return CaseSource(columns, len(given), guess_expected(columns), given=given)
    dataset = find_dataset(configuration.dataset.name or "")
    if dataset is None:
        raise ConfigurationError([Problem("dataset", no_dataset(configuration.dataset.name))])
    return CaseSource(dataset.columns, dataset.rows, dataset.expected_column, dataset)


def no_dataset(name: str | None) -> str:
    names = ", ".join(
        sorted(set(Dataset.objects.filter(archived=None).values_list("name", flat=True)))[:20]
    )
    there = names or "none yet; import one under Datasets"
    return f"There is no dataset {name!r}. Choose one of: {there}."


def read_cases(source: CaseSource, configuration: Configuration) -> list[Case]:
    """All that the configuration asks for, in order."""
    return cases_at(source, configuration, range(cases_of(configuration, source.rows)))


def cases_at(
    source: CaseSource, configuration: Configuration, positions: Iterable[int]
) -> list[Case]:
    if source.dataset is not None:
        return stored_cases(source.dataset, configuration, positions)
    column = configuration.expected_column
    return [Case(place, source.given[place], column) for place in sorted(positions)]


def stored_cases(
    dataset: Dataset, configuration: Configuration, positions: Iterable[int]
) -> list[Case]:
    found = CaseRow.objects.filter(dataset=dataset).order_by("position")
    if isinstance(positions, range):  # from 0 on: a long list would be too many parameters
        found = found.filter(position__lt=positions.stop)
    else:
        found = found.filter(position__in=list(positions))
    column = configuration.expected_column
    rows = found.values_list("position", "fields")
    return [Case(position, fields, column) for position, fields in rows.iterator()]
