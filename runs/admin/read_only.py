"""What workers write: an operator looks, and changes nothing."""

from typing import Any, TypeVar

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Model
from django.http import HttpRequest
from django.utils.functional import cached_property

MOST_ROWS = 10_000  # that can be paged through; filters find the rest

Stored = TypeVar("Stored", bound=Model)


class CappedPaginator(Paginator[Any]):
    """Counts no further than it pages: counting a table of millions would take seconds."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by()[:MOST_ROWS].count())


class ReadOnlyAdmin(admin.ModelAdmin[Stored]):
    paginator = CappedPaginator
    show_full_result_count = False
    ordering = ("-pk",)  # by the index there always is; the tables' own order needs a run
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Stored | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Stored | None = None) -> bool:
        return False
