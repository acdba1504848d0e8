"""What changed between two versions of a dataset: rows added, removed and changed.

Rows are matched by the id column; without one by what they ask, so that a question in other words
is one row removed and one added. Only numbers of rows are kept; a page reads the rows it shows."""

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from django.db.models import Q, QuerySet

from runs.models import Case, Dataset
from runs.models.dataset import ColumnRole
from runs.selectors.case_sources import fields_of, texts_at, texts_in_order
from runs.selectors.datasets.duplicates import mark_of

KEPT_CHANGES = 8  # some hundred KB each
NOTHING = -1  # the row is not in this version

Kind = Literal["added", "removed", "changed"]
KINDS: tuple[Kind, ...] = ("changed", "added", "removed")


class Changes(NamedTuple):
    """`pairs` has the position of a row in both versions, -1 where it is not."""

    matched_by: Sequence[str]
    columns_added: Sequence[str]
    columns_removed: Sequence[str]
    same: int
    pairs: Mapping[Kind, Sequence[tuple[int, int]]]

    def count(self, kind: Kind) -> int:
        return len(self.pairs[kind])


class ChangedRow(NamedTuple):
    before: Case | None
    after: Case | None

    def changed_columns(self, columns: Sequence[str]) -> list[str]:
        old = self.before.fields if self.before else {}
        new = self.after.fields if self.after else {}
        return [column for column in columns if old.get(column, "") != new.get(column, "")]


class _Stored(NamedTuple):
    position: int
    content: int


class NoBaseError(ValueError):
    """There is no such version to compare with. Says which there are."""


def base_version(datasets: QuerySet[Dataset], dataset: Dataset, version: int | None) -> Dataset:
    """Of those that the person may see: this one, or without a number the one before."""
    others = datasets.filter(name=dataset.name).order_by("-version")
    wanted = Q(version__lt=dataset.version) if version is None else Q(version=version)
    found = others.filter(wanted).first()
    if found is None:
        numbers = ", ".join(map(str, others.values_list("version", flat=True)[:20]))
        raise NoBaseError(f"There is no such version to compare with. There are: {numbers}.")
    return found


def changes_between(old: Dataset, new: Dataset) -> Changes:
    shared = [column for column in new.columns if column in old.columns]
    key = key_columns(new, shared)
    has_all = len(shared) == len(old.columns) == len(new.columns)
    digests = f"{old.digest} {new.digest}"
    pairs, same = _match(old.pk, new.pk, digests, tuple(key), tuple(shared), has_all)
    return Changes(
        matched_by=key,
        columns_added=[column for column in new.columns if column not in old.columns],
        columns_removed=[column for column in old.columns if column not in new.columns],
        same=same,
        pairs=pairs,
    )


def key_columns(new: Dataset, shared: Sequence[str]) -> list[str]:
    own = new.column_for(ColumnRole.ID)
    if own in shared:
        return [own]
    return [column for column in new.input_columns if column in shared] or list(shared)


class _Matched(NamedTuple):
    pairs: Mapping[Kind, Sequence[tuple[int, int]]]
    same: int


@lru_cache(maxsize=KEPT_CHANGES)
def _match(
    old_id: int,
    new_id: int,
    digests: str,
    key: tuple[str, ...],
    shared: tuple[str, ...],
    has_all: bool,
) -> _Matched:
    """With the digests: a database that is emptied gives its numbers again. `has_all`: all columns
    are shared, so that rows which are equal as a whole need no parsing."""
    gone, came, same = _unequal(old_id, new_id) if has_all else (None, None, 0)
    before = dict(_keyed(old_id, key, shared, gone))
    added, changed = array("l"), array("l")
    for place, found in _keyed(new_id, key, shared, came):
        earlier = before.pop(place, None)
        if earlier is None:
            added.append(found.position)
        elif earlier.content != found.content:
            changed.extend((earlier.position, found.position))
        else:
            same += 1
    return _Matched(
        {
            "changed": list(zip(changed[::2], changed[1::2], strict=True)),
            "added": [(NOTHING, position) for position in added],
            "removed": sorted((one.position, NOTHING) for one in before.values()),
        },
        same,
    )


class _Unequal(NamedTuple):
    gone: Sequence[int] | None  # positions in the old version, of rows that the new one has not
    came: Sequence[int] | None
    same: int


def _unequal(old_id: int, new_id: int) -> _Unequal:
    """Rows that are equal as a whole are the same, wherever they stand; of several equal ones as
    many as both versions have."""
    old, new = (list(map(hash, texts_in_order(each))) for each in (old_id, new_id))
    left = Counter(old)
    came, gone = array("l"), array("l")
    for position, mark in enumerate(new):
        if left[mark]:
            left[mark] -= 1
        else:
            came.append(position)
    for position in range(len(old) - 1, -1, -1):  # of equal rows the last ones are too many
        if left[old[position]]:
            left[old[position]] -= 1
            gone.append(position)
    return _Unequal(gone[::-1], came, len(new) - len(came))


def _keyed(
    dataset_id: int, key: tuple[str, ...], shared: tuple[str, ...], wanted: Sequence[int] | None
) -> Iterator[tuple[tuple[int, int], _Stored]]:
    """The second of two rows with the same key is matched with the second one. None: all rows."""
    times: Counter[int] = Counter()
    every = enumerate(texts_in_order(dataset_id)) if wanted is None else None
    for position, text in every or texts_at(dataset_id, wanted or ()):
        fields = fields_of(text)
        mark = mark_of(fields.get(column, "") for column in key)
        times[mark] += 1
        content = mark_of(fields.get(column, "") for column in shared)
        yield (mark, times[mark]), _Stored(position, content)


def read_changed(old: Dataset, new: Dataset, pairs: Sequence[tuple[int, int]]) -> list[ChangedRow]:
    """The rows themselves, of a page."""
    before = _cases(old, [first for first, _ in pairs])
    after = _cases(new, [second for _, second in pairs])
    return [ChangedRow(before.get(first), after.get(second)) for first, second in pairs]


def _cases(dataset: Dataset, positions: Sequence[int]) -> dict[int, Case]:
    wanted = [position for position in positions if position != NOTHING]
    found = Case.objects.filter(dataset=dataset, position__in=wanted)
    return {case.position: case for case in found}
