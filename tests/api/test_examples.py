"""The examples of the docs page, run as they stand there."""

import json
import os
import subprocess
import sys

import pytest

from runs.api.api import api
from runs.api.examples import EXAMPLES, as_curl, as_python
from runs.api.openapi import operations_of
from runs.models import (
    Configuration,
    Dataset,
    Endpoint,
    Run,
    RunState,
    Webhook,
    WebhookDelivery,
)
from runs.services.configurations import save_configuration
from runs.services.runs import create_run
from tests.api.asking import Asker
from tests.harness.factories import (
    add_record,
    add_score,
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    make_run,
    run_document,
)
from tests.runs.benchmark_parts import make_benchmark
from tests.runs.selection_parts import make_selection


def test_every_route_has_an_example_and_nothing_else_has():
    documented = {operation["operationId"] for operation in operations_of(api.get_openapi_schema())}
    assert documented == EXAMPLES.keys()


@pytest.fixture
def environ(live_server):
    """The variables of the examples, and what they name: runs 1 to 4, sums, benchmark 1, webhook 1
    with delivery 1."""
    ada = make_person("ada", staff=True)
    make_endpoint()
    make_endpoint("old-provider")
    make_person("grace")
    dataset = make_dataset(ada)
    run = make_run(ada, dataset, state=RunState.RUNNING, ended=None)
    add_record(
        add_score(run, dataset.cases.get(position=0), run.candidates.get(), 0), {"steps": []}
    )
    make_run(ada, dataset)
    make_selection(ada, dataset)
    create_run(ada, evolution_on(dataset))
    save_configuration(ada, "sums", run_document(dataset))
    hook = Webhook.objects.create(owner=ada, url="https://ci.example/")
    told = WebhookDelivery.objects.create(webhook=hook, run=run)
    assert (run.pk, make_benchmark().pk, hook.pk, told.pk) == (1, 1, 1, 1)
    return {**os.environ, "EVALSITE_URL": live_server.url, "EVALSITE_TOKEN": Asker(ada).text}


def evolution_on(dataset):
    kept = run_document(dataset)
    shared = {name: kept[name] for name in ("name", "dataset", "prompts", "scorers")}
    return {**shared, "kind": "evolve", "models": ["simulated/sim-small"]}


def in_order():
    """The run is cancelled at last."""
    return sorted(EXAMPLES.items(), key=lambda example: example[0] == "cancel")


def what_they_did():
    run = Run.objects.get(pk=1)
    kept = Configuration.objects.filter(remove_after=None)
    return {
        "state": run.state,
        "limit": run.limits_now,
        "runs": Run.objects.count(),
        "endpoints": sorted(Endpoint.objects.values_list("name", flat=True)),
        "datasets": sorted(set(Dataset.objects.values_list("name", flat=True))),
        "configurations": sorted(kept.values_list("name", flat=True)),
    }


DID = {
    "state": "cancelled",
    "limit": {"max_concurrent": 20},
    "runs": 6,
    "endpoints": ["my-provider", "old-provider", "simulated"],  # deleted, not removed yet
    "datasets": ["capitals", "sums"],
    "configurations": ["capitals", "sums"],
}


@pytest.mark.late
@pytest.mark.django_db(transaction=True, reset_sequences=True)
def test_the_curl_examples_work(environ):
    for name, example in in_order():
        done = subprocess.run(
            ["bash", "-c", as_curl(example)], env=environ, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
        assert "Accept" in example.headers or json.loads(done.stdout) is not None
    assert what_they_did() == DID


@pytest.mark.late
@pytest.mark.django_db(transaction=True, reset_sequences=True)
def test_the_python_examples_work(environ):
    for name, example in in_order():
        done = subprocess.run(
            [sys.executable, "-c", as_python(example)], env=environ, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
        assert done.stdout
    assert what_they_did() == DID


@pytest.mark.django_db
def test_the_docs_page_shows_every_route_with_both_examples():
    page = client_of(make_person("alice")).get("/api/docs").content.decode()
    for name, example in EXAMPLES.items():
        assert f'id="{name}"' in page
        assert example.address.split("?")[0] in page
    assert page.count("urllib.request.urlopen") == len(EXAMPLES)
    assert page.count("$EVALSITE_URL") == len(EXAMPLES)
    assert "http://" not in page.replace("http://testserver", "").replace(
        "http://www.w3.org/2000/svg", ""
    )


@pytest.mark.django_db
def test_the_docs_page_needs_an_account(client):
    assert client.get("/api/docs").status_code == 302
