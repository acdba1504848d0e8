"""The benchmark pages: the history, and one benchmark as curve, tables and conditions."""

from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from runs.models import Benchmark

MOST_LISTED = 200


@dataclass(frozen=True)
class BenchmarkRow:
    """A benchmark in the history: its best point stands for it."""

    benchmark: Benchmark
    conditions: dict[str, Any]
    widest: dict[str, Any]  # the point with the most calls in flight
    warm: dict[str, Any] | None
    failed: int


def list_benchmarks(benchmarks: QuerySet[Benchmark]) -> list[BenchmarkRow]:
    return [
        BenchmarkRow(
            benchmark=benchmark,
            conditions=benchmark.conditions,
            widest=benchmark.results["curve"][-1],
            warm=find_point(benchmark.results.get("cache", []), "warm cache"),
            failed=sum(point["failed"] for point in benchmark.results["curve"]),
        )
        for benchmark in benchmarks.order_by("-pk")[:MOST_LISTED]
    ]


def find_point(points: list[dict[str, Any]], label: str) -> dict[str, Any] | None:
    return next((point for point in points if point["label"] == label), None)


def curve_of(benchmark: Benchmark) -> dict[str, list[float]]:
    """Columns for the chart, by calls in flight."""
    points = benchmark.results["curve"]
    return {
        "concurrency": [point["concurrency"] for point in points],
        "measured": [point["speedup"]["median"] for point in points],
        "lowest": [point["speedup"]["min"] for point in points],
        "highest": [point["speedup"]["max"] for point in points],
        "ideal": [point["ideal_speedup"] for point in points],
        "ceiling": [point["ceiling"] for point in points],
    }


def export_of(benchmark: Benchmark) -> dict[str, Any]:
    """The same document that `manage.py benchmark --json` prints."""
    return {
        "conditions": benchmark.conditions,
        "results": benchmark.results,
        "id": benchmark.pk,
    }


def can_store_benchmarks() -> bool:
    return Benchmark._meta.db_table in connection.introspection.table_names()
