"""Keyset paging, for every list of the site and of the API: a page is found by its neighbour's
place, never by counting rows. So it stays put while rows arrive, and the last page costs as much
as the first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from django.db.models import Model, Q, QuerySet

Row = TypeVar("Row", bound=Model)
Place = Sequence[Any]  # a row's values in the columns of an order


class Page(NamedTuple, Generic[Row]):
    rows: list[Row]
    has_previous: bool
    has_next: bool


@dataclass(frozen=True, slots=True)
class Order:
    """The column that places a row, or two, which go the same way. The last one is unique."""

    columns: tuple[str] | tuple[str, str]
    is_descending: bool = False

    def walk(
        self, rows: QuerySet[Row], start: Place | None, *, backwards: bool = False
    ) -> QuerySet[Row]:
        """The rows that come after (or before) a place, nearest first; all of them without one."""
        goes_down = self.is_descending != backwards
        if start is not None:
            rows = rows.filter(_beyond(self.columns, start, "lt" if goes_down else "gt"))
        return rows.order_by(*(f"-{name}" if goes_down else name for name in self.columns))


NEWEST_FIRST = Order(("pk",), is_descending=True)
BY_POSITION = Order(("position",))
BY_NAME = Order(("name",))


def _beyond(columns: Sequence[str], start: Place, side: str) -> Q:
    first, last = columns[0], columns[-1]
    beyond = Q(**{f"{last}__{side}": start[-1]})
    if len(columns) == 1:
        return beyond
    # The condition with "or equal" is a range of an index; the other alone would sort all rows.
    within = Q(**{f"{first}__{side}e": start[0]})
    return within & (Q(**{f"{first}__{side}": start[0]}) | beyond)


def read_page(
    rows: QuerySet[Row],
    order: Order,
    size: int,
    *,
    after: Place | None = None,
    before: Place | None = None,
) -> Page[Row]:
    """The page next to a place. One row more than a page is read, which tells if there is more."""
    backwards = before is not None
    start = before if backwards else after
    nearest = list(order.walk(rows, start, backwards=backwards)[: size + 1])
    found, has_more = nearest[:size], len(nearest) > size
    if not found:
        return Page([], has_previous=False, has_next=False)
    if backwards:
        return Page(found[::-1], has_previous=has_more, has_next=True)
    return Page(found, has_previous=after is not None, has_next=has_more)


def place(value: Any) -> Place | None:
    """Where a list of one column starts: next to this value, or at its beginning."""
    return None if value is None else (value,)
