"""The OpenAPI document is true of a live server, and its examples work as they stand."""

import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from runs.api.api import api
from runs.api.examples import EXAMPLES, as_curl, as_python
from runs.api.openapi import operations_of
from runs.models import Configuration, Dataset, Endpoint, Run, RunState, WebhookDelivery
from runs.services.configurations import save_configuration
from runs.services.runs import create_run
from runs.services.webhooks import create_webhook
from tests.api.asking import Asker
from tests.harness import factories
from tests.runs.benchmark_parts import make_benchmark
from tests.runs.comparing_parts import make_selection
from workers.engine.kinds import KINDS

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENT = ROOT / "docs" / "openapi.json"
SCHEMATHESIS = Path(sys.executable).parent / "schemathesis"
captured = partial(subprocess.run, capture_output=True, text=True)


def test_the_document_that_is_checked_in_is_the_one_that_is_generated():
    generated = json.loads(json.dumps(api.get_openapi_schema()))
    assert json.loads(DOCUMENT.read_text()) == generated, "It changed: run `make openapi`."


def test_every_route_says_how_it_refuses_and_the_schema_of_the_engine_is_that_of_the_body():
    for operation in operations_of(json.loads(DOCUMENT.read_text())):
        assert operation["summary"]
        assert operation["description"].endswith((".", "`"))
        assert {"401", "403", "422", "429"} <= operation["responses"].keys()
        assert operation["security"] == [{"BearerToken": []}, {"SessionCookie": []}]
    schemas = json.loads(DOCUMENT.read_text())["components"]["schemas"]
    choices = schemas["RunBody"]["properties"]["configuration"]["anyOf"]
    assert {"$ref": "#/components/schemas/Configuration"} in choices
    kinds = [{"$ref": f"#/components/schemas/{kind.__name__}"} for kind in KINDS.values()]
    assert schemas["Configuration"]["oneOf"] == kinds
    assert set(schemas["Evaluation"]["required"]) >= {"kind", "dataset", "prompts", "models"}
    assert set(schemas["Selection"]["required"]) >= {"kind", "dataset", "steps"}


@pytest.mark.late
@pytest.mark.django_db(transaction=True)
def test_a_live_server_answers_as_documented(live_server, settings, tmp_path):
    """A small share of what `make schemathesis` asks."""
    settings.API_REQUESTS_PER_MINUTE = settings.WORK_REQUESTS_PER_MINUTE = 1_000_000
    ada = factories.make_person("ada", staff=True)
    factories.make_endpoint()
    factories.make_run(ada, factories.make_dataset(ada))
    command = [
        str(SCHEMATHESIS),
        *("run", str(DOCUMENT), "--url", live_server.url),
        *("--header", f"Authorization: Bearer {Asker(ada).text}"),
        *("--exclude-checks", "positive_data_acceptance"),
        *("--phases", "fuzzing", "-n", "1", "--seed", "7"),
        *("--suppress-health-check", "all", "--no-color", "--request-timeout", "120"),
    ]
    done = captured(command, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


@pytest.fixture
def environ(live_server):
    """The variables of the examples, and what they name: runs 1 to 4, sums, benchmark 1, webhook 1
    with delivery 1."""
    ada = factories.make_person("ada", staff=True)
    factories.make_endpoint()
    factories.make_endpoint("old-provider")
    factories.make_person("grace")
    dataset = factories.make_dataset(ada)
    run = factories.make_run(ada, dataset, state=RunState.RUNNING, ended=None)
    score = factories.add_score(run, dataset.cases.get(position=0), run.candidates.get(), 0)
    factories.add_record(score, {"steps": []})
    factories.make_run(ada, dataset)
    make_selection(ada, dataset)
    kept = factories.run_document(dataset)
    shared = {name: kept[name] for name in ("name", "dataset", "prompts", "scorers")}
    create_run(ada, {**shared, "kind": "evolve", "models": ["simulated/sim-small"]})
    save_configuration(ada, "sums", factories.run_document(dataset))
    hook = create_webhook(ada, "https://93.184.216.34/").webhook
    told = WebhookDelivery.objects.create(webhook=hook, run=run)
    assert (run.pk, make_benchmark().pk, hook.pk, told.pk) == (1, 1, 1, 1)
    return {**os.environ, "EVALSITE_URL": live_server.url, "EVALSITE_TOKEN": Asker(ada).text}


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


# One after the other in one process, each in a namespace of its own; prints what failed, by name.
RUN_ALL = """
import contextlib, io, json, sys, traceback

failed = {}
for name, text in json.load(sys.stdin).items():
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(text, {"__name__": "__main__"})
    except BaseException:
        failed[name] = traceback.format_exc()
    else:
        if not printed.getvalue():
            failed[name] = "It prints nothing."
print(json.dumps(failed))
"""


def failures_by_python(environ):
    given = json.dumps({name: as_python(example) for name, example in in_order()})
    done = captured([sys.executable, "-c", RUN_ALL], env=environ, input=given)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def failures_by_curl(environ):
    return {name: said for name, example in in_order() if (said := fault_of(example, environ))}


def fault_of(example, environ):
    """What is wrong with what curl prints, if anything."""
    done = captured(["bash", "-c", as_curl(example)], env=environ)
    if done.returncode != 0:
        return done.stdout + done.stderr
    if "Accept" not in example.headers and json.loads(done.stdout) is None:
        return "It prints nothing."
    return ""


@pytest.mark.late
@pytest.mark.django_db(transaction=True, reset_sequences=True)
@pytest.mark.parametrize("failures", [failures_by_curl, failures_by_python])
def test_the_examples_work_as_they_are_written(environ, failures):
    assert failures(environ) == {}
    assert what_they_did() == DID


def test_the_document_is_answered_to_who_may_read_and_the_docs_page_shows_every_example(alice):
    document = Asker(alice).get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert {operation["operationId"] for operation in operations_of(document)} == EXAMPLES.keys()
    page = factories.client_of(alice).get("/api/docs").content.decode()
    for name, example in EXAMPLES.items():
        assert f'id="{name}"' in page
        assert example.address.split("?")[0] in page
    assert page.count("urllib.request.urlopen") == len(EXAMPLES)
    assert page.count("$EVALSITE_URL") == len(EXAMPLES)
    assert not re.search(r"http://(?!testserver|www\.w3\.org/2000/svg)", page)
