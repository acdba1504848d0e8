"""Held-out cases before a run is launched: in the form, and in estimates."""

import pytest
from django.urls import reverse

from runs.models import Run
from runs.selectors.estimates.estimate import estimate
from runs.selectors.named_parts import every_dataset
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, run_document
from tests.runs.form_parts import small_form

pytestmark = pytest.mark.django_db

ROWS = 12


@pytest.fixture
def document(alice, endpoint):
    dataset = make_dataset(alice, rows=ROWS)
    return run_document(dataset, models=["simulated/sim-small", "simulated/sim-large"], repeats=2)


def filled(held_out):
    models = ["simulated/sim-small", "simulated/sim-large"]
    return small_form(models=models, repeats="2", seed="7", held_out=held_out)


@pytest.mark.usefixtures("document")
def test_the_form_asks_for_held_out_cases_and_fills_them_in_again(alice):
    client = client_of(alice)
    client.post(reverse("run_new"), filled("0.25"))
    run = Run.objects.get()
    assert run.document["held_out"] == 0.25
    assert run.planned == 2 * 9 * 2  # evaluations only
    again = client.get(reverse("run_new"), {"run": run.pk})
    assert again.context["filled"].held_out == "0.25"
    assert 'value="0.25"' in again.content.decode()


@pytest.mark.usefixtures("document")
def test_what_cannot_be_held_out_is_said_at_its_field(alice):
    for door, typed, told in (
        ("run_new", "12", "hold out at most 11"),
        ("run_estimate", "1.5", "whole number"),
    ):
        page = client_of(alice).post(reverse(door), filled(typed))
        assert [problem.field for problem in page.context["problems"]] == ["id_held_out"]
        assert told in page.text
    assert not Run.objects.exists()


def test_an_estimate_counts_the_confirmation(alice, document):
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
    page = client_of(alice).post(reverse("run_estimate"), filled("3")).content.decode()
    assert "3 cases: the best is scored on them" in page


def test_a_selection_is_estimated_alike(document):
    kept = {name: document[name] for name in ("name", "dataset", "scorers")}
    step = {"name": "s", "user": "{{question}}", "models": document["models"]}
    selection = {**kept, "kind": "select", "strategy": "brute_force", "steps": [step]}
    guarded = estimate({**selection, "held_out": 0.25}, every_dataset())
    assert guarded.problems == []
    assert (guarded.trials, guarded.confirming, guarded.calls_to_send) == (18, 3, 21)
