"""Has the measuring done in the laboratory's environment, and passes on what it tells."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

from evalsite.embedded.loose_parts import ProcessFailed
from evalsite.embedded.parts import MANAGE
from runs.benchmarking.laboratory import GRACE_SECONDS, Laboratory, LaboratoryFailed
from runs.benchmarking.plan import Plan

Tell = Callable[[str, str], None]  # "progress" or "measured", and the text


def drive(laboratory: Laboratory, plan: Plan, tell: Tell) -> dict[str, Any]:
    """The report. A process of its own: Django knows one database, and this one is the site's."""
    argv = [*MANAGE, "benchmark_measure"]
    process = laboratory.parts.start("measuring process", argv, talks=True)
    order = {"plan": plan.as_document(), "worker_pids": laboratory.worker_pids}
    try:
        return follow(process.popen, order, tell)
    except EndedWithoutReport:
        process.popen.wait()
        raise ProcessFailed(process.explain()) from None
    finally:
        process.stop(GRACE_SECONDS)


class EndedWithoutReport(Exception):
    """The process stopped talking before it was done."""


def follow(process: subprocess.Popen[str], order: dict[str, Any], tell: Tell) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(order))
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
