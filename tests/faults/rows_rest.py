"""Row 31: clients of the REST API that leave before their answer, or ask many times at once."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.faults.cluster import wait_until
from tests.faults.stage import ENDED, Load, Stage
from tests.faults.visitor import Visitor

ADDRESS = "/runs"
AT_ONCE = 20
LEAVERS = 10
REFUSED = (409, 422)


def launch(visitor: Visitor, document: dict[str, Any], key: str) -> tuple[int, Any]:
    answer = visitor.post(ADDRESS, {"configuration": document}, key)
    return answer.status, answer.json().get("id")


def leave_early(stage: Stage) -> None:
    """Row 31: some leave at once, some a little later; all send it again. Then twenty at once."""
    document = stage.document(Load(30, 10, 10))
    document["models"] = [f"{stage.cluster.make_endpoint()}/sim-large"]
    stage.cluster.quiet()
    visitor = stage.cluster.visitor
    keys = [f"left-{stage.random.random()}" for _ in range(LEAVERS)]
    for place, key in enumerate(keys):
        connection = visitor.send(ADDRESS, {"configuration": document}, key)
        time.sleep(0.01 * place)
        connection.close()
    answers = [launch(visitor, document, key) for key in keys]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        tasks = [threads.submit(launch, visitor, document, "at-once") for _ in range(AT_ONCE)]
        at_once = [task.result() for task in tasks]
    check_answers(stage, answers, at_once)
    status, _ = launch(visitor, {**document, "name": "another"}, keys[0])
    stage.verdict.expect(status in REFUSED, f"another body under the same key gave {status}")
    runs = [run for _, run in answers + at_once[:1]]
    truth = stage.cluster.truth
    wait_until(lambda: all(truth.state(run) in ENDED for run in runs), 60, "the runs")


def check_answers(
    stage: Stage, answers: list[tuple[int, Any]], at_once: list[tuple[int, Any]]
) -> None:
    wrong = [status for status, _ in answers + at_once if status != 202]
    stage.verdict.figure("not_accepted", len(wrong), most=0)
    stage.verdict.figure("runs_of_twenty_at_once", len({run for _, run in at_once}), most=1)
    stored = stage.cluster.truth.count("runs_run", "idempotency_key LIKE 'left-%'")
    stage.verdict.figure("runs_of_those_who_left", stored, most=LEAVERS)
    stage.verdict.expect(len({run for _, run in answers}) == LEAVERS, "a launch was lost")
