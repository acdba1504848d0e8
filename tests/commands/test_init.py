"""`init`: what it writes fits what is there, and runs at once."""

import json
from typing import Any

import pytest
import yaml

from runs.management.surroundings import ollama_url
from tests.commands.conftest import command, refused
from workers.engine.providers.known import KNOWN_PROVIDERS

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_around(monkeypatch, ada):
    """Neither a key nor an Ollama, whatever this machine has."""
    for known in KNOWN_PROVIDERS.values():
        if known.key_env:
            monkeypatch.delenv(known.key_env, raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")


def read(folder):
    found: dict[str, Any] = yaml.safe_load((folder / "evals.yaml").read_text())
    return found


def test_in_an_empty_folder_the_simulated_provider_is_asked(tmp_path, simulator):
    made = command("init", tmp_path)
    assert made.exit_code == 0, made.err
    assert f"run {tmp_path / 'evals.yaml'}" in made.out
    ran = command("run", tmp_path / "evals.yaml", "--here")
    assert (ran.exit_code, ran.done["counts"]["done"]) == (0, 12)
    assert ran.done["score"]["value"] > 0.5
    job = yaml.safe_load((tmp_path / ".github/workflows/evals.yml").read_text())
    steps = job["jobs"]["evals"]["steps"]
    [evaluate] = [step["run"] for step in steps if step.get("name") == "Evaluate"]
    assert evaluate.startswith("evalsite run evals.yaml --json")
    assert "env" not in job["jobs"]["evals"]


def test_an_ollama_that_runs_is_asked_about_the_rows_around_it(tmp_path, simulator, monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", simulator.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    (tmp_path / "b.jsonl").write_text('{"odd": "rows without an answer"}\n')
    rows = [{"id": "1", "Q: [x]": "What is 2 + 3?", "answer": "5"}]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "a.csv").write_text('"unclosed')
    assert command("init", tmp_path, "--no-ci").exit_code == 0
    document = read(tmp_path)
    assert document["dataset"] == {"file": "c.jsonl", "first": 20}
    assert document["endpoints"] == {"ollama": {"base_url": simulator.url}}
    assert document["scorers"] == ["numeric"]
    assert "# - openai/" in (tmp_path / "evals.yaml").read_text()
    assert not (tmp_path / ".github").exists()
    ran = command("run", tmp_path / "evals.yaml", "--here")
    assert (ran.exit_code, ran.done["counts"]["done"]) == (0, 2), ran.err


def test_a_key_in_the_environment_names_its_provider_and_stays_there(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-0815")
    (tmp_path / "texts.csv").write_text("text\nHello there\n")
    assert command("init", tmp_path).exit_code == 0
    document = read(tmp_path)
    assert document["endpoints"] == {"anthropic": {"key_env": "ANTHROPIC_API_KEY"}}
    [model] = document["models"]
    assert document["scorers"][0]["rubric"]["judge"] == model  # no column has the right answers
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any("sk-canary" in text for text in written)
    job = (tmp_path / ".github/workflows/evals.yml").read_text()
    assert "ANTHROPIC_API_KEY: ${{ secrets.ANTHROPIC_API_KEY }}" in job


def test_what_is_there_is_replaced_only_when_asked(tmp_path):
    (tmp_path / "evals.yaml").write_text("mine")
    assert refused("init", tmp_path, told="--force")
    assert [path.name for path in tmp_path.iterdir()] == ["evals.yaml"]
    assert (tmp_path / "evals.yaml").read_text() == "mine"
    assert command("init", tmp_path, "--force").exit_code == 0
    assert read(tmp_path)["models"] == ["simulated/sim-large"]


def test_the_host_of_ollama_is_read_as_ollama_reads_it():
    hosts = {
        "": "http://127.0.0.1:11434",
        "0.0.0.0": "http://127.0.0.1:11434",
        "gpu.lan": "http://gpu.lan:11434",
        "gpu.lan:99": "http://gpu.lan:99",
        "https://gpu.example:443/": "https://gpu.example:443",
    }
    assert {host: ollama_url(host) for host in hosts} == hosts
