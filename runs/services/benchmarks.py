"""Keeps benchmarks, so that they can be compared over time."""

from typing import Any

from runs.models import Benchmark


def store_benchmark(report: dict[str, Any]) -> Benchmark:
    """What `manage.py benchmark` measured. Nobody owns it: it was run on the command line."""
    return Benchmark.objects.create(
        conditions=report["conditions"],
        results=report["results"],
        code_version=report["conditions"]["code_version"][:80],
    )
