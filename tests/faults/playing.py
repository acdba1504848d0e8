"""Plays rows of the matrix, each on a cluster of its shape, and tells what came of each."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tests.faults.checker import Verdict
from tests.faults.cluster import Cluster
from tests.faults.matrix_row import SHAPES, SHORT_LEASE_SECONDS, Row
from tests.faults.stage import Stage


@contextmanager
def playhouse(*, is_full: bool) -> Iterator[Playhouse]:
    house = Playhouse(is_full=is_full)
    try:
        yield house
    finally:
        house.close()


class Playhouse:
    """Keeps one cluster at a time: rows of the same shape share it, another shape replaces it."""

    def __init__(self, *, is_full: bool) -> None:
        self._is_full = is_full
        self._cluster: Cluster | None = None
        self._shape = ""

    def play(self, row: Row, seed: int) -> dict[str, Any]:
        """What a row measured and which promises it found broken."""
        cluster = self._cluster_for(row.shape)
        stage = Stage(cluster, seed, is_full=self._is_full)
        began = time.monotonic()
        verdict = stage.verdict
        try:
            row.play(stage)
        except Exception as problem:  # noqa: BLE001  # it belongs to this row; the next one is played
            verdict.violations.append(f"{type(problem).__name__}: {problem}")
            if not isinstance(problem, AssertionError) and not verdict.figures:
                verdict.violations.append(traceback.format_exc(limit=-3))
            self.close()  # nobody knows what it left behind
        return report(row, seed, verdict, time.monotonic() - began, is_full=self._is_full)

    def _cluster_for(self, name: str) -> Cluster:
        if self._cluster is None or self._shape != name:
            self.close()
            shape = SHAPES[name]
            if not self._is_full:
                shape = replace(shape, lease_seconds=SHORT_LEASE_SECONDS)
            self._cluster, self._shape = Cluster(shape), name
        return self._cluster

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
        self._cluster = None


def report(
    row: Row, seed: int, verdict: Verdict, seconds: float, *, is_full: bool
) -> dict[str, Any]:
    return {
        "row": row.name,
        "fault": row.fault,
        "ok": not verdict.violations,
        "seed": seed,
        "tier": "full" if is_full else "short",
        "seconds": round(seconds, 1),
        "figures": verdict.figures,
        "violations": verdict.violations,
    }
