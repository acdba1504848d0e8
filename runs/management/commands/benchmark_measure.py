"""The part of `benchmark` that runs in the benchmark's own data folder: measures, tells in JSON."""

import json
import sys
import time
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand

from runs.benchmarking.measuring import MeasuringFailed
from runs.benchmarking.plan import Plan
from runs.benchmarking.whole import measure_all
from workers.engine.errors import ConfigurationError

WATCH_SECONDS = 0.5


class Command(BaseCommand):
    help = "Started by `benchmark`: reads a plan from stdin, writes one JSON object a line."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        order = json.load(sys.stdin)  # not on the command line: it may hold an endpoint's key
        self._watched = 0.0
        try:
            plan = Plan.from_document(order["plan"])
            report = measure_all(plan, order["worker_pids"], self._watch, self._say)
        except MeasuringFailed as problem:
            self._tell("failed", text=str(problem))
        except ConfigurationError as problem:
            texts = [f"{each.path}: {each.message}" for each in problem.problems]
            self._tell("failed", text="A run was refused: " + "; ".join(texts))
        except ValidationError as problem:
            self._tell("failed", text=f"The endpoint was refused: {'; '.join(problem.messages)}")
        else:
            self._tell("report", **report)

    def _watch(self, label: str, done: int, planned: int) -> None:
        if time.monotonic() - self._watched < WATCH_SECONDS:
            return
        self._watched = time.monotonic()
        self._tell("progress", text=f"{label}: {done:,} of {planned:,}")

    def _say(self, line: str) -> None:
        self._tell("measured", text=line)

    def _tell(self, event: str, **content: Any) -> None:
        self.stdout.write(json.dumps({"event": event, **content}))
        self.stdout.flush()
