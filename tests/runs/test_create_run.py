"""Launching: everything is checked first, then stored whole, once; and slices of a dataset."""

import json
import sys
from argparse import ArgumentParser
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.urls import reverse

from runs import __version__
from runs.forms.starting_points import from_document
from runs.management.documents import add_document, load_document
from runs.models import Candidate, Chunk, Configuration, Dataset, Endpoint, Run
from runs.selectors.estimates.estimate import estimate
from runs.selectors.named_parts import every_dataset
from runs.services.configurations import save_configuration
from runs.services.datasets.storing import store_rows
from runs.services.demo import start_demo
from runs.services.removing.archiving import archive_dataset, archive_endpoint
from runs.services.runs import cancel_run, create_run
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, make_run, run_document
from tests.harness.table import table
from tests.runs.conftest import at_once, words_of
from tests.runs.new_run_parts import problems_of, small_form
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


def test_the_demo_brings_its_own_parts_back_too_and_changes_none(alice, ada):
    assert start_demo(alice).planned == 3 * 2 * 60
    endpoint = Endpoint.objects.get(name="simulated")
    Endpoint.objects.update(max_concurrent=3)
    start_demo(alice)
    endpoint.refresh_from_db()
    assert endpoint.max_concurrent == 3
    archive_endpoint(ada, endpoint)
    archive_dataset(alice, Dataset.objects.get().name)
    assert start_demo(alice).planned


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


# --- A slice of a dataset: form, estimate, REST, duplicate, pages; and its facts

ROWS = [
    {"question": f"{n} + 1?", "expected": str(n + 1), "subject": ("sums", "logic")[n % 2]}
    for n in range(40)
]
SLICE = {"where": {"subject": "sums"}, "split": {"part": "train"}, "sample": 10, "seed": 7}
WORDS = "10 of 40 rows, where subject is sums, part train (seed 0), a sample (seed 7)"


@pytest.fixture
def dataset(alice, endpoint):
    return store_rows(alice, "sums", ROWS)


def sliced(dataset, **part):
    return {**run_document(dataset), "dataset": {"name": dataset.name, **part}}


CHOSEN = {"where": "subject: sums", "split": "train", "sample": "10", "sample_seed": "7"}


def test_the_form_launches_a_slice_and_everything_says_which(alice, browser, dataset):
    panel = words_of(browser.post(reverse("run_estimate"), small_form(**CHOSEN)))
    assert "10 cases (of 40)" in panel
    browser.post(reverse("run_new"), small_form(**CHOSEN))
    run = Run.objects.get()
    assert run.planned == 10
    assert run.document["dataset"] == {
        "name": "sums@1",
        "where": {"subject": "sums"},
        "split": {"part": "train", "of": {"train": 0.8, "test": 0.2}, "seed": 0},
        "sample": 10,
        "seed": 7,
    }
    assert WORDS in words_of(browser.get(reverse("run_configuration", args=[run.pk])))
    assert f"v1, {WORDS}" in words_of(browser.get(dataset.get_absolute_url()))
    facts = Asker(alice).get(f"/runs/{run.pk}").json()["ran_on"]
    assert (facts["cases"], facts["rows"]) == (10, 40)
    assert f"10 of 40 rows, {facts['slice']}" == WORDS
    again = from_document(run.document)
    assert (again.mode, again.part.document()) == ("form", {**SLICE, "split": "train"})


def test_a_duplicate_shows_a_slice_in_the_form_where_it_has_room(alice, dataset):
    split = {"part": "dev", "of": {"dev": 0.5, "rest": 0.5}}
    run = create_run(alice, sliced(dataset, split=split))
    again = from_document(run.document)
    assert (again.mode, "part: dev" in again.yaml) == ("yaml", True)
    odd = {"question": "1?", "expected": "1", "a: b": "x, {y}", "c": "yes"}
    dataset = store_rows(alice, "odd", [odd, {**odd, "c": "3"}])
    where = {"a: b": ["x, {y}"], "c": {"not": "3"}}
    run = create_run(alice, sliced(dataset, where=where))
    again = from_document(run.document)
    assert (again.mode, again.part.document()) == ("form", {"where": where})
    assert len(again.part.where.splitlines()) == 2


@table(
    ({"where": "topic: x"}, "id_where", "There is no column 'topic'. The columns are"),
    ({"where": "subject: music"}, "id_where", "No row has 'music'"),
    ({"where": "no colon"}, "id_where", "Give columns with values"),
    ({"where": "a: [1"}, "id_where", "Give columns with values"),
    ({"sample": "41"}, "id_sample", "A sample of 41 cannot be drawn from 40 rows."),
    ({"sample": "3", "sample_seed": "x"}, "id_sample_seed", "valid integer"),
    ({"split": "dev"}, "id_split", "There is no part 'dev'."),
)
def test_what_cannot_be_cut_starts_nothing_and_marks_its_field(alice, dataset, typed, field, told):
    (problem,) = problems_of(alice, small_form(**typed))
    assert problem.field == field
    assert told in problem.message
    assert not Run.objects.exists()


def test_rest_estimates_and_refuses_a_slice_and_pasted_rows_are_cut_too(alice, dataset):
    body = {"configuration": sliced(dataset, **SLICE)}
    estimate = Asker(alice).post("/runs/estimate", body).json()
    assert (estimate["cases"], estimate["rows"], estimate["trials"]) == (10, 40, 10)
    wrong = {"configuration": sliced(dataset, where={"subject": "music"})}
    answer = Asker(alice).post("/runs", wrong)
    assert (answer.status_code, answer.json()["problems"][0]["path"]) == (422, "dataset.where")
    rows = "question,expected,subject\n2 + 3?,5,sums\n4 + 4?,8,logic\n1 + 1?,2,sums\n"
    pasted = small_form(dataset_source="paste", rows=rows, where="subject: sums", dataset="")
    assert "2 cases (of 3)" in words_of(client_of(alice).post(reverse("run_estimate"), pasted))
    client_of(alice).post(reverse("run_new"), pasted)
    run = Run.objects.get()
    assert (run.planned, run.dataset.rows) == (2, 3)


def test_a_run_keeps_what_it_ran_on(alice, dataset):
    Endpoint.objects.update(tokens_per_minute=9000, adaptive=False)
    run = create_run(alice, sliced(dataset, first=3) | {"limits": {"max_concurrent": 7}})
    Endpoint.objects.update(tokens_per_minute=1, adaptive=True)
    facts = Asker(alice).get(f"/runs/{run.pk}").json()["ran_on"]
    assert facts["code_version"].startswith(__version__)
    assert settings.COMMIT[:12] in facts["code_version"]
    assert (facts["scorers"], facts["limits"]["max_concurrent"]) == ({"exact": 1}, 7)
    endpoint = facts["endpoints"]["simulated"]
    assert (endpoint["tokens_per_minute"], endpoint["adaptive"]) == (9000, False)
    page = words_of(client_of(alice).get(reverse("run_configuration", args=[run.pk])))
    for said in ("3 of 40 rows, the first", "tokens_per_minute: 9000", "adaptive: false"):
        assert said in page
    assert set(Asker(alice).get(f"/runs/{run.pk}", fields="id,ran_on").json()) == {"id", "ran_on"}
    document = sliced(dataset, first=5)  # of a run of an earlier version
    run = make_run(alice, dataset, document=document, snapshot_of={"code_version": "0.1.0"})
    facts = Asker(alice).get(f"/runs/{run.pk}").json()["ran_on"]
    assert (facts["cases"], facts["slice"], facts["scorers"]) == (5, "the first", {})
    page = words_of(client_of(alice).get(reverse("run_configuration", args=[run.pk])))
    assert "5 of 40 rows, the first" in page


# --- Held-out cases before a run is launched: in the form, and in estimates

TWELVE = 12


@pytest.fixture
def repeated(alice, endpoint):
    dataset = make_dataset(alice, rows=TWELVE)
    return run_document(dataset, models=["simulated/sim-small", "simulated/sim-large"], repeats=2)


def filled(held_out):
    models = ["simulated/sim-small", "simulated/sim-large"]
    return small_form(models=models, repeats="2", seed="7", held_out=held_out)


@pytest.mark.usefixtures("repeated")
def test_the_form_takes_held_out_cases_fills_them_in_again_and_says_what_is_wrong(alice, browser):
    for door, typed, told in (
        ("run_new", "12", "hold out at most 11"),
        ("run_estimate", "1.5", "whole number"),
    ):
        page = client_of(alice).post(reverse(door), filled(typed))
        assert [problem.field for problem in page.context["problems"]] == ["id_held_out"]
        assert told in page.text
    assert not Run.objects.exists()
    browser.post(reverse("run_new"), filled("0.25"))
    run = Run.objects.get()
    assert run.document["held_out"] == 0.25
    assert run.planned == 2 * 9 * 2  # evaluations only
    again = browser.get(reverse("run_new"), {"run": run.pk})
    assert again.context["filled"].held_out == "0.25"
    assert 'value="0.25"' in again.text


def test_an_estimate_counts_the_confirmation_also_of_a_selection(alice, repeated):
    whole = estimate(repeated, every_dataset())
    guarded = estimate({**repeated, "held_out": 3}, every_dataset())
    assert (whole.trials, whole.calls_to_send, whole.confirming) == (48, 48, 0)
    assert (guarded.cases, guarded.trials) == (9, 36)
    assert (guarded.held_out, guarded.confirming) == (3, 6)
    assert guarded.calls_to_send == 36 + 6
    told = (
        Asker(alice).post("/runs/estimate", {"configuration": {**repeated, "held_out": 3}}).json()
    )
    assert (told["held_out"], told["confirming"], told["calls_to_send"]) == (3, 6, 42)
    page = client_of(alice).post(reverse("run_estimate"), filled("3")).text
    assert "3 cases: the best is scored on them" in page
    kept = {name: repeated[name] for name in ("name", "dataset", "scorers")}
    step = {"name": "s", "user": "{{question}}", "models": repeated["models"]}
    selection = {**kept, "kind": "select", "strategy": "brute_force", "steps": [step]}
    guarded = estimate({**selection, "held_out": 0.25}, every_dataset())
    assert guarded.problems == []
    assert (guarded.trials, guarded.confirming, guarded.calls_to_send) == (18, 3, 21)
