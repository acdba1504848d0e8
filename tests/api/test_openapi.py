"""The OpenAPI document: checked in as it is generated, and true of a live server."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runs.api.api import api
from runs.api.openapi import operations_of
from tests.api.asking import Asker
from tests.harness.factories import make_dataset, make_endpoint, make_person, make_run
from workers.engine.kinds import KINDS

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENT = ROOT / "docs" / "openapi.json"
SCHEMATHESIS = Path(sys.executable).parent / "schemathesis"


def test_the_document_that_is_checked_in_is_the_one_that_is_generated():
    generated = json.loads(json.dumps(api.get_openapi_schema()))
    assert json.loads(DOCUMENT.read_text()) == generated, "It changed: run `make openapi`."


@pytest.mark.django_db
def test_the_document_is_answered_to_who_may_read(client):
    asker = Asker(make_person("alice"))
    assert asker.get("/openapi.json").json()["openapi"].startswith("3.1")
    assert client.get("/api/v1/openapi.json").status_code == 401


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
    ada = make_person("ada", staff=True)
    make_endpoint()
    make_run(ada, make_dataset(ada))
    command = [
        str(SCHEMATHESIS),
        *("run", str(DOCUMENT), "--url", live_server.url),
        *("--header", f"Authorization: Bearer {Asker(ada).text}"),
        *("--exclude-checks", "positive_data_acceptance"),
        *("--phases", "fuzzing", "-n", "1", "--seed", "7"),
        *("--suppress-health-check", "all", "--no-color", "--request-timeout", "120"),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
