"""The cases that a side of a comparison was asked, read only as far as they are shown."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import orjson

from runs.models import Case
from workers.engine.statistics.columns import Numbers

Fields = Mapping[str, str]
AT_ONCE = 500  # positions in one query


class Cases(Protocol):
    def fields_at(self, positions: Collection[int]) -> dict[int, Fields]: ...

    def every(self) -> dict[int, Fields]:
        """In the order of their positions."""


class StoredCases:
    def __init__(self, dataset_id: int) -> None:
        self.dataset_id = dataset_id

    def fields_at(self, positions: Collection[int]) -> dict[int, Fields]:
        return {case.position: case.fields for case in self.rows_at(positions)}

    def rows_at(self, positions: Collection[int]) -> list[Case]:
        wanted, found = sorted(set(positions)), Case.objects.filter(dataset_id=self.dataset_id)
        return [
            case
            for start in range(0, len(wanted), AT_ONCE)
            for case in found.filter(position__in=wanted[start : start + AT_ONCE])
        ]

    def every(self) -> dict[int, Fields]:
        rows = Case.objects.filter(dataset_id=self.dataset_id).order_by("position")
        return dict(rows.values_list("position", "fields"))


class GivenCases:
    """Of a run in this process."""

    def __init__(self, fields: Mapping[int, Fields]) -> None:
        self.fields = fields

    def fields_at(self, positions: Collection[int]) -> dict[int, Fields]:
        return {position: self.fields[position] for position in positions}

    def every(self) -> dict[int, Fields]:
        return {position: self.fields[position] for position in sorted(self.fields)}


def number_by_content(datasets: Sequence[Cases]) -> list[Numbers]:
    """For each dataset, by position, a number that is the same for the same fields, wherever they
    are in a dataset; the second of two equal cases is not the first."""
    numbers: dict[tuple[bytes, int], int] = {}
    return [number_one(dataset.every(), numbers) for dataset in datasets]


def number_one(cases: Mapping[int, Fields], numbers: dict[tuple[bytes, int], int]) -> Numbers:
    import numpy

    times: Counter[bytes] = Counter()
    found = numpy.full(max(cases, default=-1) + 1, -1, dtype=numpy.int64)
    for position, fields in cases.items():
        text = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
        times[text] += 1
        found[position] = numbers.setdefault((text, times[text]), len(numbers))
    return found
