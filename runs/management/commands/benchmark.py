"""`manage.py benchmark`: measures the real path on parts of its own, and keeps the result."""

import json
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from evalsite.embedded.redis_server import RedisServerError
from runs.benchmarking.driving import drive
from runs.benchmarking.laboratory import LaboratoryFailed, running_laboratory
from runs.benchmarking.plan import DEFAULT_TRIALS, Plan, PlanError, RealEndpoint
from runs.benchmarking.spending import check_budget, take_endpoint
from runs.benchmarking.table import write_report
from runs.secrets import SecretsError
from runs.selectors.benchmarks import can_store_benchmarks
from runs.selectors.named_parts import find_endpoint
from runs.services.benchmarks import store_benchmark

BAD_INPUT = 2
ENDED_BY_SIGTERM = 143  # 128 + SIGTERM, as shells have it


class Command(BaseCommand):
    help = (
        "Measures speed with a simulated provider and workers of its own. It compares sequential "
        "and parallel calls, cold and warm caches, and the two schedules. Nothing else should run "
        "on the machine meanwhile."
    )

    requires_system_checks = (Tags.compatibility,)  # the others would load every page

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--trials", type=int, default=DEFAULT_TRIALS, help="trials a measurement"
        )
        parser.add_argument(
            "--latency-ms", type=float, default=200.0, help="latency of every answer"
        )
        parser.add_argument(
            "--jitter", type=float, default=0.0, help="share by which the latency varies"
        )
        parser.add_argument(
            "--concurrency", default="1,5,20,100", help="calls in flight, as a list"
        )
        parser.add_argument("--workers", type=int, default=2, help="worker processes")
        parser.add_argument("--repeats", type=int, default=3, help="times to measure each")
        parser.add_argument("--seed", type=int, default=0, help="seed of the simulated provider")
        parser.add_argument("--endpoint", help="a stored endpoint instead of the simulated one")
        parser.add_argument("--model", help="model of --endpoint")
        parser.add_argument("--max-dollars", type=float, help="most that --endpoint may cost")
        parser.add_argument("--yes", action="store_true", help="really call --endpoint")
        parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
        parser.add_argument("--out", type=Path, help="also write the JSON into this file")
        parser.add_argument(
            "--no-store", action="store_true", help="do not store the result in the site"
        )
        # Read by manage.py, for every command; here for --help.
        parser.add_argument("--data", help="data folder of the site that stores the result")

    def handle(self, *args: Any, **options: Any) -> None:
        plan = self._plan(options)
        self._check_outputs(options)
        connections.close_all()  # nothing of the site is used while it measures
        signal.signal(signal.SIGTERM, leave)
        try:
            with running_laboratory(plan) as laboratory:
                report = drive(laboratory, plan, self._tell)
        except (LaboratoryFailed, RedisServerError) as problem:
            raise CommandError(str(problem)) from None
        self._hand_out(report, options)

    def _plan(self, options: dict[str, Any]) -> Plan:
        try:
            plan = Plan(
                trials=options["trials"],
                latency_ms=options["latency_ms"],
                jitter=options["jitter"],
                concurrency=read_levels(options["concurrency"]),
                workers=options["workers"],
                repeats=options["repeats"],
                seed=options["seed"],
                endpoint=chosen_endpoint(options),
            )
            if plan.endpoint:
                self._ask(plan, plan.endpoint, is_meant=options["yes"])
        except (PlanError, SecretsError) as problem:
            raise CommandError(str(problem), returncode=BAD_INPUT) from None
        return plan

    def _ask(self, plan: Plan, endpoint: RealEndpoint, *, is_meant: bool) -> None:
        sentence = check_budget(plan, endpoint)
        if not is_meant:
            raise PlanError(f"{sentence} Nothing was sent. Add --yes to start it.")
        self.stderr.write(sentence)

    def _check_outputs(self, options: dict[str, Any]) -> None:
        """Before minutes of measuring, not after."""
        if options["out"] and not options["out"].absolute().parent.is_dir():
            folder = options["out"].absolute().parent
            raise CommandError(f"--out: there is no folder {folder}.", returncode=BAD_INPUT)
        if not options["no_store"] and not can_store_benchmarks():
            raise CommandError(
                "The site's database is new or too old to store the result. Run"
                " `manage.py migrate`, or add --no-store.",
                returncode=BAD_INPUT,
            )

    def _tell(self, event: str, text: str) -> None:
        """On a terminal one line that moves; elsewhere only what was measured."""
        if sys.stderr.isatty():
            end = "\n" if event == "measured" else "\r"
            self.stderr.write(f"\x1b[2K{text}", ending=end)
            self.stderr.flush()
        elif event == "measured":
            self.stderr.write(text)

    def _hand_out(self, report: dict[str, Any], options: dict[str, Any]) -> None:
        stored = None if options["no_store"] else store_benchmark(report)
        document = json.dumps({**report, "id": stored.pk if stored else None}, indent=2)
        if options["out"]:
            options["out"].write_text(document + "\n")
        if options["json"]:
            self.stdout.write(document)
            return
        self.stdout.write(write_report(report))
        if stored:
            self.stdout.write(f"\nStored as benchmark {stored.pk}: {stored.get_absolute_url()}")


def read_levels(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise PlanError(
            f"--concurrency is {text!r}. Give whole numbers separated by commas, as in 1,5,20,100."
        ) from None


def chosen_endpoint(options: dict[str, Any]) -> RealEndpoint | None:
    if not options["endpoint"]:
        return None
    if not options["model"]:
        raise PlanError("--endpoint needs --model: the name of a model that it offers.")
    stored = find_endpoint(options["endpoint"])
    if stored is None:
        raise PlanError(
            f"There is no endpoint {options['endpoint']!r}. Its name is on the page Endpoints."
        )
    return take_endpoint(stored, options["model"], options["max_dollars"])


def leave(number: int, frame: FrameType | None) -> NoReturn:
    """Ends by SIGTERM like by Ctrl-C: through the blocks that stop the parts."""
    raise SystemExit(ENDED_BY_SIGTERM)
