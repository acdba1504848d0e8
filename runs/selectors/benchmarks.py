"""The benchmark pages: the history, and one benchmark as curve, tables and conditions."""

from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from runs.models import Benchmark

MOST_LISTED = 200
WITH_BARS = Q(results__has_key="rows")


@dataclass(frozen=True)
class BenchmarkRow:
    """A benchmark in the history: its best point stands for it."""

    benchmark: Benchmark
    conditions: dict[str, Any]
    widest: dict[str, Any]  # the point with the most calls in flight
    warm: dict[str, Any] | None
    failed: int


def list_benchmarks(benchmarks: QuerySet[Benchmark]) -> list[BenchmarkRow]:
    """Those of speed."""
    return [
        BenchmarkRow(
            benchmark=benchmark,
            conditions=benchmark.conditions,
            widest=benchmark.results["curve"][-1],
            warm=find_point(benchmark.results.get("cache", []), "warm cache"),
            failed=sum(point["failed"] for point in benchmark.results["curve"]),
        )
        for benchmark in benchmarks.exclude(WITH_BARS).order_by("-pk")[:MOST_LISTED]
    ]


def list_older(benchmarks: QuerySet[Benchmark]) -> QuerySet[Benchmark]:
    """Those against bars, which only earlier versions measured and stored."""
    return benchmarks.filter(WITH_BARS).order_by("-pk")[:MOST_LISTED]


def has_bars(benchmark: Benchmark) -> bool:
    return "rows" in benchmark.results


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
