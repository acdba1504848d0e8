"""Benchmarks for tests, as the command would have stored them."""

from typing import Any

from runs.benchmarking.measuring import Measurement, Traffic
from runs.benchmarking.points import compared_point, curve_point
from runs.models import Benchmark
from runs.services.benchmarks import store_benchmark


def measured(concurrency: int, wall_seconds: float, n: int = 1000, **changes: Any) -> Measurement:
    given: dict[str, Any] = {
        "run_id": 1,
        "latency_ms": 200.0,
        "cpu_seconds": 0.5,
        "traffic": Traffic(calls=n, refused=0, peak_in_flight=concurrency),
        "failed": 0,
        "cached": 0,
        "tokens_in": 20 * n,
        "tokens_out": 4 * n,
    }
    return Measurement(
        n=n, concurrency=concurrency, wall_seconds=wall_seconds, **{**given, **changes}
    )


def make_report(repeats: int = 3, **conditions: Any) -> dict[str, Any]:
    """200 ms, one at a time and 100 at a time; every repeat a little slower."""
    sequential = [measured(1, 5.5 + repeat, n=25) for repeat in range(repeats)]
    parallel = [measured(100, 2.2 + repeat / 10) for repeat in range(repeats)]
    from_cache = Traffic(calls=0, refused=0, peak_in_flight=0)
    warm = [measured(100, 0.2, traffic=from_cache, cached=1000) for _ in range(repeats)]
    return {
        "conditions": {
            "at": "2026-11-16T03:42:29+00:00",
            "provider": "simulated",
            "latency_ms": 200.0,
            "jitter": 0.0,
            "adaptive": False,
            "trials": 1000,
            "concurrency": [1, 100],
            "repeats": repeats,
            "workers": 2,
            "seed": 0,
            "cores": 2,
            "machine": "Linux x86_64",
            "python": "3.11.7",
            "packages": {"django": "5.2", "aiohttp": "3.14"},
            "database": "SQLite 3.40.1",
            "redis": "Valkey 9.1.2",
            "load_before": 0.25,
            "load_after": 1.5,
            "code_version": "0.1.0 (abc1234)",
            **conditions,
        },
        "results": {
            "shape": 1,
            "curve": [
                curve_point(found, sequential, slots=5000, requests_per_minute=None)
                for found in (sequential, parallel)
            ],
            "cache": [
                compared_point(label, found, parallel)
                for label, found in (("cold cache", parallel), ("warm cache", warm))
            ],
            "notes": ["Sequential was measured on 25 trials."],
        },
    }


def make_benchmark(repeats: int = 3, **conditions: Any) -> Benchmark:
    return store_benchmark(make_report(repeats, **conditions))
