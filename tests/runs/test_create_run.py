"""Launching: everything is checked first, then stored whole, once."""

import json
import sys
from argparse import ArgumentParser
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.urls import reverse

from runs.management.documents import add_document, load_document
from runs.models import Candidate, Chunk, Configuration, Dataset, Endpoint, Run
from runs.services.configurations import save_configuration
from runs.services.datasets.storing import store_rows
from runs.services.demo import start_demo
from runs.services.runs import cancel_run, create_run
from tests.harness.factories import client_of, make_dataset, run_document
from tests.runs.conftest import at_once
from tests.runs.new_run_parts import small_form
from workers.engine.errors import ConfigurationError

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
    made = at_once(*[partial(create_run, alice, document, "key-1")] * 20)
    assert set(made) == {Run.objects.get()}


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


def written(user, system="Be\nbrief."):
    prompts = [{"name": "plain", "system": system, "user": user}]
    return run_document(Dataset(name="sums", version=1), name="sent", prompts=prompts)


def test_a_text_of_a_browser_or_an_old_mac_is_the_prompt_of_a_file(alice, dataset, tmp_path):
    plain = create_run(alice, written(LINES)).candidates.get().key
    file, parser = tmp_path / "sums.json", ArgumentParser()
    add_document(parser)
    for end in ("\r\n", "\r"):
        document = written(LINES.replace("\n", end), f"Be{end}brief.")
        sent = create_run(alice, document)
        assert (sent.candidates.get().key, sent.document["prompts"][0]["user"]) == (plain, LINES)
        kept = save_configuration(alice, "kept", document)
        assert kept.document["prompts"][0]["user"] == LINES
        file.write_text(json.dumps(document))
        loaded = load_document(vars(parser.parse_args([str(file), "--set", 'name="a\\r\\nb"'])))
        assert (loaded["prompts"][0]["user"], loaded["name"]) == (LINES, "a\nb")
    fields = {"prompt-0-system": "Be\r\nbrief.", "prompt-0-user": LINES.replace("\n", "\r\n")}
    client_of(alice).post(reverse("run_new"), small_form(**fields))
    assert Run.objects.latest("pk").candidates.get().key == plain


def test_stored_configurations_are_mended_and_stored_runs_are_not(alice):
    dataset = make_dataset(alice, "other")
    document = written(LINES.replace("\n", "\r\n"))
    broken = Configuration.objects.create(name="broken", kind="evaluate", document=document)
    good = Configuration.objects.create(name="good", kind="evaluate", document={"a": LINES})
    run = Run.objects.create(owner=alice, dataset=dataset, name="old", document=document)
    import_module("runs.migrations.0017_plain_line_ends").mend(apps, None)
    for stored in (broken, good, run):
        stored.refresh_from_db()
    assert broken.document["prompts"][0]["user"] == LINES
    assert (broken.version, good.version) == (2, 1)
    assert run.document == document
