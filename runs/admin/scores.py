"""Scores and cached replies: the two tables that grow to millions of rows."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from runs.admin.read_only import ReadOnlyAdmin
from runs.models import CachedReply, Score
from workers.engine.errors import CALL_ERRORS


class OutcomeFilter(admin.SimpleListFilter):
    """By name of error, from the list in the code: asking the table would read all of it."""

    title = "outcome"
    parameter_name = "outcome"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("ok", "Scored"), ("failed", "Any error"), *((name, name) for name in CALL_ERRORS)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Score]) -> QuerySet[Score]:
        chosen = self.value()
        if not chosen:
            return queryset
        if chosen == "ok":
            return queryset.filter(error_class="")
        if chosen == "failed":
            return queryset.exclude(error_class="")
        return queryset.filter(error_class=chosen)


@admin.register(Score)
class ScoreAdmin(ReadOnlyAdmin[Score]):
    list_display = ("run", "position", "candidate", "value", "error_class", "cached", "finished")
    list_display_links = ("position",)
    list_filter = (OutcomeFilter, "cached", "truncated", "passed")
    search_fields = ("run__name", "candidate__name")
    search_help_text = "Name of a run or a candidate. For one run, follow “scores” on its page."
    list_select_related = ("run", "candidate")


@admin.register(CachedReply)
class CachedReplyAdmin(ReadOnlyAdmin[CachedReply]):
    list_display = ("short_key", "endpoint", "model", "latency_ms", "tokens_out", "created")
    list_filter = ("created",)
    search_fields = ("=key", "endpoint", "model")
    ordering = ("-created",)

    @admin.display(description="Key")
    def short_key(self, reply: CachedReply) -> str:
        return f"{reply.key[:12]}…"
