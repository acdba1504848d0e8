"""Runs and their parts, as the workers left them."""

from urllib.parse import urlencode

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html_join

from runs.admin.read_only import ReadOnlyAdmin
from runs.models import Candidate, Chunk, Run, RunEvent, RunSample

PARTS = [
    ("candidate", "candidates"),
    ("chunk", "chunks"),
    ("score", "scores"),
    ("runevent", "events"),
    ("runsample", "samples"),
]


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin[Run]):
    list_display = ("id", "name", "kind", "state", "progress", "failed", "owner", "created")
    list_display_links = ("id", "name")
    list_filter = ("state", "kind", "created")
    search_fields = ("name", "owner__username", "reason")
    list_select_related = ("owner",)
    readonly_fields = ("parts",)

    @admin.display(description="Done")
    def progress(self, run: Run) -> str:
        return f"{run.done:,} of {run.planned:,}"

    @admin.display(description="Parts")
    def parts(self, run: Run) -> str:
        query = urlencode({"run__id__exact": run.pk})
        rows = [(reverse(f"admin:runs_{part}_changelist"), query, name) for part, name in PARTS]
        return format_html_join(" · ", '<a href="{}?{}">{}</a>', rows)


@admin.register(Candidate)
class CandidateAdmin(ReadOnlyAdmin[Candidate]):
    list_display = ("run", "position", "name", "done", "failed", "cached", "scored")
    list_display_links = ("name",)
    search_fields = ("name", "key", "run__name")
    list_select_related = ("run",)


@admin.register(Chunk)
class ChunkAdmin(ReadOnlyAdmin[Chunk]):
    list_display = ("id", "run", "start", "state", "owner", "lease_until", "deaths")
    list_filter = ("state", "deaths")
    search_fields = ("owner", "run__name")
    list_select_related = ("run",)


@admin.register(RunEvent)
class RunEventAdmin(ReadOnlyAdmin[RunEvent]):
    list_display = ("at", "run", "level", "message")
    list_filter = ("level", "at")
    search_fields = ("message", "run__name")
    list_select_related = ("run",)


@admin.register(RunSample)
class RunSampleAdmin(ReadOnlyAdmin[RunSample]):
    list_display = ("run", "second", "fresh", "cached", "failed", "in_flight")
    search_fields = ("run__name",)
    list_select_related = ("run",)
