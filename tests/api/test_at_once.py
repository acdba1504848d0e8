"""Requests that arrive at the same moment, at a real server."""

import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from runs.models import Run
from tests.api.asking import Asker
from tests.harness.factories import make_dataset, make_endpoint, make_person, run_document

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = 20


def test_launches_with_one_key_make_one_run(live_server):
    alice = make_person("alice")
    make_endpoint()
    body = json.dumps({"configuration": run_document(make_dataset(alice))}).encode()
    headers = {
        "Authorization": f"Bearer {Asker(alice).text}",
        "Content-Type": "application/json",
        "Idempotency-Key": "once",
    }
    request = urllib.request.Request(f"{live_server.url}/api/v1/runs", body, headers)

    def launch(_: int) -> tuple[int, int]:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)["id"]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = set(pool.map(launch, range(AT_ONCE)))
    assert answers == {(202, Run.objects.get().pk)}
