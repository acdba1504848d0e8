"""Datasets: versions and sizes. Rows are on the dataset's own page, not here."""

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest

from runs.admin.read_only import ReadOnlyAdmin
from runs.models import Dataset


@admin.register(Dataset)
class DatasetAdmin(ReadOnlyAdmin[Dataset]):
    list_display = (
        "name",
        "version",
        "rows",
        "column_names",
        "used_by",
        "owner",
        "is_shared",
        "created",
    )
    list_filter = ("created",)
    search_fields = ("name", "digest")
    list_select_related = ("owner",)
    fields = (
        "name",
        "version",
        "rows",
        "column_names",
        "expected_column",
        "used_by",
        "digest",
        "owner",
        "is_shared",
        "created",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Dataset]:
        return super().get_queryset(request).annotate(run_count=Count("runs"))

    @admin.display(description="Columns")
    def column_names(self, dataset: Dataset) -> str:
        return ", ".join(dataset.columns[:10]) + (" …" if len(dataset.columns) > 10 else "")

    @admin.display(description="Runs")
    def used_by(self, dataset: Dataset) -> int:
        return int(getattr(dataset, "run_count", 0))
