"""A slice of a dataset through the doors: form, estimate, REST, duplicate, pages; and its facts."""

import pytest
from django.conf import settings
from django.urls import reverse

from runs import __version__
from runs.forms.starting_points import from_document
from runs.models import Endpoint, Run
from runs.selectors.estimates.estimate import estimate
from runs.selectors.named_parts import every_dataset
from runs.services.datasets.storing import store_rows
from runs.services.runs import create_run
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, make_run, run_document
from tests.harness.table import table
from tests.runs.conftest import words_of
from tests.runs.new_run_parts import problems_of, small_form

pytestmark = pytest.mark.django_db

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
def document(alice, endpoint):
    dataset = make_dataset(alice, rows=TWELVE)
    return run_document(dataset, models=["simulated/sim-small", "simulated/sim-large"], repeats=2)


def filled(held_out):
    models = ["simulated/sim-small", "simulated/sim-large"]
    return small_form(models=models, repeats="2", seed="7", held_out=held_out)


@pytest.mark.usefixtures("document")
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


def test_an_estimate_counts_the_confirmation_also_of_a_selection(alice, document):
    whole = estimate(document, every_dataset())
    guarded = estimate({**document, "held_out": 3}, every_dataset())
    assert (whole.trials, whole.calls_to_send, whole.confirming) == (48, 48, 0)
    assert (guarded.cases, guarded.trials) == (9, 36)
    assert (guarded.held_out, guarded.confirming) == (3, 6)
    assert guarded.calls_to_send == 36 + 6
    told = (
        Asker(alice).post("/runs/estimate", {"configuration": {**document, "held_out": 3}}).json()
    )
    assert (told["held_out"], told["confirming"], told["calls_to_send"]) == (3, 6, 42)
    page = client_of(alice).post(reverse("run_estimate"), filled("3")).text
    assert "3 cases: the best is scored on them" in page
    kept = {name: document[name] for name in ("name", "dataset", "scorers")}
    step = {"name": "s", "user": "{{question}}", "models": document["models"]}
    selection = {**kept, "kind": "select", "strategy": "brute_force", "steps": [step]}
    guarded = estimate({**selection, "held_out": 0.25}, every_dataset())
    assert guarded.problems == []
    assert (guarded.trials, guarded.confirming, guarded.calls_to_send) == (18, 3, 21)
