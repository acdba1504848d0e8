"""Launching: everything is checked first, then stored whole, once."""

import json
import sys
from argparse import ArgumentParser
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.urls import reverse

from runs.management.documents import add_document, load_document
from runs.models import Candidate, Case, Chunk, Configuration, Dataset, Endpoint, Run
from runs.services.datasets.storing import store_rows
from runs.services.demo import start_demo
from runs.services.runs import cancel_run, create_run
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, run_document
from tests.runs.new_run_parts import small_form
from workers.engine.errors import ConfigurationError
from workers.engine.spec.documents import read_document

pytestmark = pytest.mark.django_db


@pytest.fixture
def document(alice, endpoint):
    rows = [{"question": "What is 2 + 3?", "expected": "5"}] * 3
    store_rows(alice, "sums", rows, share=True)
    prompts = [{"name": "a"}, {"name": "b", "system": "Be brief."}]
    return {**run_document(Dataset(name="sums"), prompts=prompts, repeats=2), "dataset": "sums"}


def test_a_run_freezes_what_it_depends_on_and_has_rows_given_in_place(alice, document, bob):
    run = create_run(alice, document)
    assert (run.state, run.planned) == ("queued", 2 * 1 * 3 * 2)
    assert run.document["dataset"] == "sums@1"
    assert run.snapshot_of["endpoints"]["simulated"]["max_concurrent"] == 20
    names = [candidate.name for candidate in run.candidates.all()]
    assert names == ["a · simulated/sim-small", "b · simulated/sim-small"]
    store_rows(alice, "sums", [{"question": "changed", "expected": "1"}])
    assert Run.objects.get(pk=run.pk).dataset.version == 1
    rows = [{"question": "What is 1 + 1?", "expected": "2"}]
    first = create_run(alice, {**document, "dataset": {"rows": rows}})
    second = create_run(alice, {**document, "dataset": {"rows": rows}})
    assert first.dataset == second.dataset == Dataset.objects.get(is_hidden=True)
    assert first.document["dataset"] == f"{first.dataset.name}@1"
    assert create_run(bob, {**document, "dataset": {"rows": rows}}).dataset != first.dataset


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"dataset": "none"}, "dataset", "Choose one of: sums"),
    ({"models": ["elsewhere/x"]}, "models.0.endpoint", "Choose one of: simulated"),
    ({"prompts": [{"name": "a", "user": "{{answer}}"}]}, "prompts.0.user", "question, expected"),
    ({"dataset": {"rows": [{"a": "1"}, {"b": "1"}]}}, "dataset.rows.2", "lacks 'a'"),
]


def test_a_bad_document_and_more_runs_than_allowed_store_nothing(alice, document, bob, settings):
    for change, path, words in BAD:
        with pytest.raises(ConfigurationError) as caught:
            create_run(alice, {**document, **change})
        assert words in dict(caught.value.problems)[path]
    for model in (Run, Candidate, Chunk):
        assert not model.objects.exists()
    settings.LIVE_RUNS = 2
    first = create_run(alice, document, "once")
    create_run(alice, document, "twice")
    with pytest.raises(ConfigurationError, match="You have 2 runs that have not ended"):
        create_run(alice, document)
    assert create_run(alice, document, "once") == first  # not a new one
    assert create_run(bob, document, "once") != first
    cancel_run(first)
    create_run(alice, document)


@pytest.mark.postgresql("locks: launches at once with one key")
@pytest.mark.django_db(transaction=True)
def test_twenty_launches_at_once_with_one_key_make_one_run(alice, document):
    def launch(_):
        try:
            return create_run(alice, document, "key-1").pk
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as pool:
        assert len(set(pool.map(launch, range(20)))) == 1
    assert Run.objects.count() == 1


def test_the_demo_brings_its_own_parts_and_changes_none(alice):
    assert start_demo(alice).planned == 3 * 2 * 60
    endpoint = Endpoint.objects.get(name="simulated")
    Endpoint.objects.update(max_concurrent=3)
    start_demo(alice)
    endpoint.refresh_from_db()
    assert endpoint.max_concurrent == 3
    assert Dataset.objects.count() == 1


@contextmanager
def counted_calls():
    """How many functions are called: a measure of time that depends on no machine."""
    calls = [0]

    def count(frame, event, argument):
        calls[0] += event == "call"

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def test_a_grid_of_a_billion_trials_is_refused_at_once_and_writes_nothing(alice, document):
    """Nor are rows stored that it brings along."""
    rows = {"rows": [{"question": str(n), "expected": "1"} for n in range(2000)]}
    prompts = [{"name": f"p{n}"} for n in range(500)]
    large = {**document, "dataset": rows, "prompts": prompts, "repeats": 1000}
    told = "1,000,000,000 trials are more than the 2,000,000"
    with counted_calls() as calls, pytest.raises(ConfigurationError, match=told):
        create_run(alice, large)
    assert calls[0] < len(prompts) * 2000, "it looked at every prompt with every case"
    assert (Dataset.objects.count(), Run.objects.count(), Candidate.objects.count()) == (1, 0, 0)


# --- A line ends one way, whichever door a text comes through: else it is another prompt

LINES = "Answer {{question}}\n\nwith one\nnumber."
FROM_A_BROWSER = LINES.replace("\n", "\r\n")
OLD_MAC = LINES.replace("\n", "\r")
YAML = """
kind: evaluate
dataset: sums
prompts:
  - name: plain
    system: "Be\\nbrief."
    user: |-
      Answer {{question}}

      with one
      number.
models: [simulated/sim-small]
scorers: [numeric]
"""


@pytest.fixture
def keys(alice, dataset):
    """Of the candidates of the same run, written as a file."""
    return keys_of(create_run(alice, read_document(YAML)))


def keys_of(run):
    return list(run.candidates.order_by("position").values_list("key", flat=True))


def ask(person, method, path, body):
    answer = Asker(person).ask(method, path, body)
    assert answer.status_code in {200, 201, 202}, answer.content
    return answer.json()


def form(**fields):
    prompt = {"prompt-0-system": "Be\r\nbrief.", "prompt-0-user": FROM_A_BROWSER}
    scorer = {"scorers": ["numeric"], "scorer-numeric-tolerance": "0.001"}
    return small_form(**prompt, **scorer, **fields)


def test_what_is_typed_into_the_form_or_the_yaml_box_is_the_prompt_of_the_file(alice, keys):
    given = json.dumps({**run_document_of(OLD_MAC), "name": "sent"})
    for typed in (form(), {"mode": "yaml", "yaml": given}):
        client_of(alice).post(reverse("run_new"), typed)
        sent = Run.objects.filter(name="sent").latest("pk")
        assert (keys_of(sent), sent.document["prompts"][0]["user"]) == (keys, LINES)
    assert Run.objects.filter(name="sent").count() == 2
    fields = {
        "steps": ["0"], "step-0-name": "solver", "step-0-user": FROM_A_BROWSER,
        "step-0-models": ["simulated/sim-small"], "strategy": "brute_force",
    }  # fmt: skip
    client_of(alice).post(reverse("run_new"), form(kind="select", **fields))
    assert Run.objects.latest("pk").document["steps"][0]["user"] == LINES


def run_document_of(user):
    prompts = [{"name": "plain", "system": "Be\r\nbrief.", "user": user}]
    document = run_document(Dataset(name="sums", version=1), prompts=prompts, scorers=["numeric"])
    return {name: value for name, value in document.items() if name != "name"}


def test_over_rest_it_is_the_same_prompt_and_what_is_too_deep_is_refused(alice, keys):
    body = run_document_of(FROM_A_BROWSER)
    ask(alice, "post", "/configurations", {**body, "name": "made"})
    ask(alice, "put", "/configurations/put", body)
    for name in ("made", "put"):
        assert Configuration.objects.get(name=name).document["prompts"][0]["user"] == LINES
    launched = ask(alice, "post", "/runs", {"configuration": {**body, "name": "sent"}})
    run = Run.objects.get(pk=launched["id"])
    assert (keys_of(run), run.document["prompts"][0]["user"]) == (keys, LINES)
    deep: Any = "x"
    for _ in range(900):
        deep = [deep]
    models = [{"endpoint": "simulated", "model": "sim-small", "parameters": {"stop": deep}}]
    document = {**run_document_of(LINES), "models": models}
    assert Asker(alice).post("/runs", {"configuration": document}).status_code == 422


def test_the_admin_a_file_and_what_is_set_on_the_command_line_are_read_alike(ada, tmp_path):
    ada.is_superuser = True
    ada.save()
    text = json.dumps(run_document_of(FROM_A_BROWSER), indent=1).replace("\n", "\r\n")
    client_of(ada).post(
        reverse("admin:runs_configuration_add"), {"name": "edited", "document": text}
    )
    assert Configuration.objects.get().document["prompts"][0]["user"] == LINES
    file = tmp_path / "sums.json"
    file.write_text(json.dumps(run_document_of(FROM_A_BROWSER)))
    parser = ArgumentParser()
    add_document(parser)
    loaded = load_document(vars(parser.parse_args([str(file), "--set", 'name="a\\r\\nb"'])))
    assert (loaded["prompts"][0]["user"], loaded["name"]) == (LINES, "a\nb")


QUOTED = 'question,expected\r\n"What is\r\n2 + 3?",5\r\n'
AS_JSON = '{"question": "What is\\r\\n2 + 3?", "expected": "5"}'


def test_rows_are_stored_alike_whichever_way_they_come(alice, dataset, tmp_path):
    client, file = client_of(alice), tmp_path / "rows.txt"
    rows = [{"question": "What is\r2 + 3?", "expected": "5"}]
    ask(alice, "post", "/datasets", {"name": "rest", "rows": rows})
    for kind, text in (("csv", QUOTED), ("jsonl", AS_JSON)):
        pasted = {"name": f"pasted {kind}", "text": text, "step": "import"}
        client.post(reverse("dataset_import"), pasted)
        upload = SimpleUploadedFile("rows.txt", text.encode())
        sent = {"name": f"sent {kind}", "file": upload, "step": "import"}
        client.post(reverse("dataset_import"), sent)
        file.write_bytes(text.encode())
        call_command("import_dataset", f"filed {kind}", file, stdout=StringIO())
        client.post(reverse("run_new"), form(dataset_source="paste", rows=text))
    found = Case.objects.exclude(dataset=dataset).values_list("dataset__name", "fields")
    names = {name for name, _ in found}
    assert len(names) == 1 + 2 * 3 + 1  # both pasted into a run are the same rows
    assert Run.objects.count() == 2
    assert [row for _, row in found] == [{"question": "What is\n2 + 3?", "expected": "5"}] * 8


def test_stored_configurations_are_mended_and_stored_runs_are_not(alice):
    dataset = make_dataset(alice, "other")
    document = run_document(dataset, prompts=[{"name": "plain", "user": FROM_A_BROWSER}])
    broken = Configuration.objects.create(name="broken", kind="evaluate", document=document)
    good = Configuration.objects.create(name="good", kind="evaluate", document={"a": LINES})
    run = Run.objects.create(owner=alice, dataset=dataset, name="old", document=document)
    import_module("runs.migrations.0017_plain_line_ends").mend(apps, None)
    for stored in (broken, good, run):
        stored.refresh_from_db()
    assert broken.document["prompts"][0]["user"] == LINES
    assert (broken.version, good.version) == (2, 1)
    assert run.document == document
