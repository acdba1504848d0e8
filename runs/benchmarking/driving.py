"""Has the measuring done in the laboratory's environment, and passes on what it tells."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

from evalsite.embedded.child_processes import describe_end, die_with_parent
from evalsite.embedded.parts import MANAGE
from runs.benchmarking.laboratory import LAST_LINES, Laboratory, LaboratoryFailed, stop
from runs.benchmarking.plan import Plan

Tell = Callable[[str, str], None]  # "progress" or "measured", and the text


def drive(laboratory: Laboratory, plan: Plan, tell: Tell) -> dict[str, Any]:
    """The report. A process of its own: Django knows one database, and this one is the site's."""
    log = laboratory.folder / "measure.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [*MANAGE, "benchmark_measure"],
            env=laboratory.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            preexec_fn=die_with_parent(),  # noqa: PLW1509  # no threads here
        )
    try:
        return follow(process, {"plan": plan.as_document(), **pids(laboratory)}, tell)
    except EndedWithoutReport:
        end = describe_end(process.wait())
        lines = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        raise LaboratoryFailed("\n".join([f"The measuring process {end}.", *lines])) from None
    finally:
        stop(process)


class EndedWithoutReport(Exception):
    """The process stopped talking before it was done."""


def pids(laboratory: Laboratory) -> dict[str, Any]:
    return {"worker_pids": laboratory.worker_pids}


def follow(process: subprocess.Popen[bytes], order: dict[str, Any], tell: Tell) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(order).encode())
    process.stdin.close()
    for line in process.stdout:
        heard = json.loads(line)
        event = heard.pop("event")
        if event == "report":
            return dict(heard)
        if event == "failed":
            raise LaboratoryFailed(heard["text"])
        tell(event, heard["text"])
    raise EndedWithoutReport
