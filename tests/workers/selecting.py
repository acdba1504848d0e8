"""Runs of kind `select` in the test's own process, to compare those of workers with."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from tests.engine.running import run_document
from workers.engine.records import Case, Score
from workers.simulator.demo import make_questions
from workers.simulator.testing import SimulatorClient

Plain = list[tuple[Any, ...]]
Rows = Sequence[Mapping[str, str]]


def plain(scores: Sequence[Score]) -> Plain:
    return [(score.trial, score.value, score.error) for score in scores]


def in_one_process(
    selection: dict[str, Any], simulator: SimulatorClient, rows: Rows | None = None
) -> Plain:
    rows = rows or [question._asdict() for question in make_questions(20)]
    cases = [Case(place, row) for place, row in enumerate(rows)]
    return plain(asyncio.run(run_document(selection, cases, simulator.url)))
