"""Row 31: clients of the REST API that leave before their answer, or ask many times at once."""

from __future__ import annotations

import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

from tests.faults.cluster import wait_until
from tests.faults.stage import ENDED, Load, Stage

ADDRESS = "/api/v1/runs"
AT_ONCE = 20
LEAVERS = 10
REFUSED = (409, 422)


class Client:
    """Every request on a connection of its own, as scripts do."""

    def __init__(self, stage: Stage) -> None:
        self._place = urlsplit(stage.cluster.site).netloc
        self._token = stage.cluster.person.ask("make_token")

    def send(self, document: dict[str, Any], key: str) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(self._place, timeout=30)
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Idempotency-Key": key,
        }
        connection.request("POST", ADDRESS, json.dumps({"configuration": document}), headers)
        return connection

    def launch(self, document: dict[str, Any], key: str) -> tuple[int, Any]:
        answer = self.send(document, key).getresponse()
        return answer.status, json.loads(answer.read()).get("id")


def leave_early(stage: Stage) -> None:
    """Row 31: some leave at once, some a little later; all send it again. Then twenty at once."""
    document = stage.document(Load(30, 10, 10))
    document["models"] = [f"{stage.cluster.make_endpoint()}/sim-large"]
    stage.cluster.quiet()
    client = Client(stage)
    keys = [f"left-{stage.random.random()}" for _ in range(LEAVERS)]
    for place, key in enumerate(keys):
        connection = client.send(document, key)
        time.sleep(0.01 * place)
        connection.close()
    answers = [client.launch(document, key) for key in keys]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        tasks = [threads.submit(client.launch, document, "at-once") for _ in range(AT_ONCE)]
        at_once = [task.result() for task in tasks]
    check_answers(stage, answers, at_once)
    status, _ = client.launch({**document, "name": "another"}, keys[0])
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
