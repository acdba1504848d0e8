"""A kind's own part of the new-run form."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, Self

from django.http import QueryDict

Place = tuple[str, str]  # the id of a field and its label

TEMPLATE_ROW = 99_999  # the number that a script replaces when it adds a row


class FormSection(ABC):
    """Every field of it as text, as it was typed."""

    template: ClassVar[str]
    fields: ClassVar[Mapping[str, Place]]
    """The fields of the document that are its own, and where each is on the page."""
    fixed: ClassVar[Mapping[str, Any]] = {}
    """Common fields that have one meaning only in its kind, whatever the form says."""

    @classmethod
    @abstractmethod
    def blank(cls) -> Self: ...

    @classmethod
    @abstractmethod
    def read(cls, post: QueryDict) -> Self: ...

    @classmethod
    @abstractmethod
    def of(cls, configuration: Any) -> Self:
        """As a stored document fills it."""

    @abstractmethod
    def document(self, entry: Callable[[str], Any]) -> dict[str, Any]:
        """Its part of the document; `entry` writes a model with the parameters of all."""

    @abstractmethod
    def change_rows(self, post: QueryDict) -> bool:
        """Add or remove a row, for pages without scripts; whether that was asked for."""

    def find_field(self, parts: Sequence[str]) -> Place | None:
        """Where a problem at this path of the document is to be mended."""
        return self.fields.get(parts[0])

    def unlisted(self, offered: Collection[str]) -> list[str]:
        """The models it has ticked that no endpoint lists."""
        return []

    @classmethod
    def meaning(cls, configuration: Any) -> dict[str, Any]:
        """What of it is the same however it was written."""
        return {}


def row_numbers(post: QueryDict, name: str, most: int) -> list[int]:
    """The rows in the order of their numbers, which may have gaps where one was removed."""
    numbers = (text for text in post.getlist(name) if text.isdecimal() and len(text) < 6)
    return sorted(map(int, numbers))[:most]


def next_number(rows: Sequence[Any]) -> int:
    return max((row.index for row in rows), default=-1) + 1
