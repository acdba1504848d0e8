"""A line ends one way, whichever door a text comes through: else it is another prompt."""

import json
from argparse import ArgumentParser
from importlib import import_module
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse

from runs.management.documents import add_document, load_document
from runs.models import Case, Configuration, Dataset, Run
from runs.services.runs import create_run
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, run_document
from tests.runs.form_parts import small_form
from workers.engine.spec.documents import read_document

pytestmark = pytest.mark.django_db

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


def test_a_prompt_typed_into_the_form_or_the_yaml_box_is_the_prompt_of_the_file(alice, keys):
    given = json.dumps({**run_document_of(OLD_MAC), "name": "sent"})
    for typed in (form(), {"mode": "yaml", "yaml": given}):
        client_of(alice).post(reverse("run_new"), typed)
        sent = Run.objects.filter(name="sent").latest("pk")
        assert (keys_of(sent), sent.document["prompts"][0]["user"]) == (keys, LINES)
    assert Run.objects.filter(name="sent").count() == 2


def test_the_steps_of_a_choice_are_read_alike(alice, dataset):
    fields = {
        "steps": ["0"], "step-0-name": "solver", "step-0-user": FROM_A_BROWSER,
        "step-0-models": ["simulated/sim-small"], "strategy": "brute_force",
    }  # fmt: skip
    client_of(alice).post(reverse("run_new"), form(kind="select", **fields))
    assert Run.objects.get().document["steps"][0]["user"] == LINES


def run_document_of(user):
    prompts = [{"name": "plain", "system": "Be\r\nbrief.", "user": user}]
    document = run_document(Dataset(name="sums", version=1), prompts=prompts, scorers=["numeric"])
    return {name: value for name, value in document.items() if name != "name"}


def test_over_rest_it_is_the_same_prompt(alice, keys):
    body = run_document_of(FROM_A_BROWSER)
    ask(alice, "post", "/configurations", {**body, "name": "made"})
    ask(alice, "put", "/configurations/put", body)
    for name in ("made", "put"):
        assert Configuration.objects.get(name=name).document["prompts"][0]["user"] == LINES
    launched = ask(alice, "post", "/runs", {"configuration": {**body, "name": "sent"}})
    run = Run.objects.get(pk=launched["id"])
    assert (keys_of(run), run.document["prompts"][0]["user"]) == (keys, LINES)


def test_a_configuration_edited_in_the_admin_is_stored_alike(ada):
    ada.is_superuser = True
    ada.save()
    text = json.dumps(run_document_of(FROM_A_BROWSER), indent=1).replace("\n", "\r\n")
    client_of(ada).post(
        reverse("admin:runs_configuration_add"), {"name": "edited", "document": text}
    )
    assert Configuration.objects.get().document["prompts"][0]["user"] == LINES


def test_a_file_and_what_is_set_on_the_command_line_are_read_alike(tmp_path):
    file = tmp_path / "sums.json"
    file.write_text(json.dumps(run_document_of(FROM_A_BROWSER)))
    parser = ArgumentParser()
    add_document(parser)
    options = vars(parser.parse_args([str(file), "--set", 'name="a\\r\\nb"']))
    loaded = load_document(options)
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


def test_a_document_that_is_nested_too_deeply_is_refused_not_a_crash(alice, dataset):
    deep: Any = "x"
    for _ in range(900):
        deep = [deep]
    models = [{"endpoint": "simulated", "model": "sim-small", "parameters": {"stop": deep}}]
    document = {**run_document_of(LINES), "models": models}
    answer = Asker(alice).post("/runs", {"configuration": document})
    assert answer.status_code == 422


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
