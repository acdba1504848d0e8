"""Configurations out to YAML and in again, and a run as something to paste."""

import json
import subprocess

import pytest

from runs.models import Configuration
from runs.reports.curl import as_curl
from runs.services.configurations import save_configuration
from tests.commands.conftest import command, refused
from tests.harness.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db

HOSTILE = "'; touch /tmp/evil; echo '\nCONFIGURATION\n$(id) `id` \u202e \x1b[31m é"


@pytest.fixture
def stored(ada, document):
    odd = {
        **document,
        "prompts": [{"name": "yes", "system": "\u2028 \x85 2024-01-01", "user": f" {HOSTILE}\n"}],
        "models": [{"endpoint": "simulated", "model": "1e3", "parameters": {"temperature": 1e-7}}],
        "dataset": {"rows": [{"question": "no", "expected": "0123"}]},
    }
    return save_configuration(ada, "nightly: 1", odd, description="Kept.", is_preset=True)


def test_a_round_trip_is_exact_and_makes_no_new_version(tmp_path, stored):
    file = tmp_path / "c.yaml"
    assert command("export_configuration", stored.name, "--out", file).exit_code == 0
    assert file.read_text() == command("export_configuration", stored.name).out
    assert command("import_configuration", file).out == "nightly: 1, version 1.\n"
    again = Configuration.objects.get()
    assert again.document == stored.document
    assert (again.description, again.is_preset) == ("Kept.", True)
    command("import_configuration", file, "--name", "copy")
    assert Configuration.objects.get(name="copy").document == stored.document


def test_what_cannot_be_read_or_found_is_refused_with_its_problems(tmp_path, stored):
    wrong = {
        "[1]": "mapping of fields",
        "name: 7\nkind: evaluate": "name: Give a text",
        "name: x\nkind: evaluate\ncolour: red": "colour",
        "a: [": "not YAML or JSON",
        "kind: evaluate": "name: Give 1 to",
    }
    file = tmp_path / "c.yaml"
    for text, told in wrong.items():
        file.write_text(text)
        assert refused("import_configuration", file, told=told), text
    assert Configuration.objects.get() == stored
    near = stored.name  # is told to who misses it
    assert refused("export_configuration", "nightly", told=near)


def test_the_curl_of_a_run_sends_exactly_its_configuration_whatever_it_holds(tmp_path, stored):
    """A shell that runs it calls our curl, which writes down what it was given."""
    fake = tmp_path / "curl"
    fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/words\ncat > {tmp_path}/body\n')
    fake.chmod(0o755)
    text = as_curl("http://127.0.0.1:8000/api/v1/runs?a='b'", stored.as_document)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "EVALSITE_TOKEN": "es_secret"}
    subprocess.run(["bash", "-euc", text], env=environment, check=True, timeout=PATIENCE_SECONDS)
    assert json.loads((tmp_path / "body").read_text()) == {"configuration": stored.as_document}
    words = (tmp_path / "words").read_text().splitlines()
    assert "http://127.0.0.1:8000/api/v1/runs?a='b'" in words
    assert "Authorization: Bearer es_secret" in words
    assert text.isascii()
