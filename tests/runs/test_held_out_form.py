"""Held-out cases before a run is launched: in the form, and in estimates."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from runs.models import Run
from runs.selectors.estimates.estimate import estimate
from runs.selectors.named_parts import every_dataset
from tests.api.asking import Asker
from tests.harness.factories import (
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    run_document,
)

pytestmark = pytest.mark.django_db

ROWS = 12


@pytest.fixture
def ada() -> User:
    make_endpoint()
    return make_person("ada")


@pytest.fixture
def document(ada: User) -> dict[str, Any]:
    dataset = make_dataset(ada, rows=ROWS)
    return run_document(dataset, models=["simulated/sim-small", "simulated/sim-large"], repeats=2)


def filled(held_out: str) -> dict[str, Any]:
    """What a browser sends."""
    return {
        "key": "key-1",
        "mode": "form",
        "name": "guarded",
        "dataset_source": "stored",
        "dataset": "sums",
        "prompts": ["0"],
        "prompt-0-name": "plain",
        "prompt-0-user": "{{question}}",
        "models": ["simulated/sim-small", "simulated/sim-large"],
        "scorers": ["numeric"],
        "repeats": "2",
        "held_out": held_out,
        "seed": "7",
        "preset": "endpoint",
        "cache": "use",
    }


@pytest.mark.usefixtures("document")
def test_the_form_asks_for_held_out_cases_and_fills_them_in_again(ada: User) -> None:
    client = client_of(ada)
    client.post(reverse("run_new"), filled("0.25"))
    run = Run.objects.get()
    assert run.document["held_out"] == 0.25
    assert run.planned == 2 * 9 * 2  # evaluations only
    again = client.get(reverse("run_new"), {"run": run.pk})
    assert again.context["filled"].held_out == "0.25"
    assert 'value="0.25"' in again.content.decode()


@pytest.mark.usefixtures("document")
@pytest.mark.parametrize(
    ("typed", "told"), [("12", "hold out at most 11"), ("1.5", "whole number")]
)
def test_what_cannot_be_held_out_is_said_at_its_field(ada: User, typed: str, told: str) -> None:
    page = client_of(ada).post(reverse("run_new"), filled(typed))
    assert page.status_code == 400
    problems = page.context["problems"]
    assert [problem.field for problem in problems] == ["id_held_out"]
    assert told in page.content.decode()
    assert not Run.objects.exists()


def test_an_estimate_counts_the_confirmation(ada: User, document: dict[str, Any]) -> None:
    whole = estimate(document, every_dataset())
    guarded = estimate({**document, "held_out": 3}, every_dataset())
    assert (whole.trials, whole.calls_to_send, whole.confirming) == (48, 48, 0)
    assert (guarded.cases, guarded.trials) == (9, 36)
    assert (guarded.held_out, guarded.confirming) == (3, 6)
    assert guarded.calls_to_send == 36 + 6
    told = Asker(ada).post("/runs/estimate", {"configuration": {**document, "held_out": 3}}).json()
    assert (told["held_out"], told["confirming"], told["calls_to_send"]) == (3, 6, 42)
    page = client_of(ada).post(reverse("run_estimate"), filled("3")).content.decode()
    assert "3 cases: the best is scored on them" in page


def test_a_selection_is_estimated_alike(document: dict[str, Any]) -> None:
    kept = {name: document[name] for name in ("name", "dataset", "scorers")}
    step = {"name": "s", "user": "{{question}}", "models": document["models"]}
    selection = {**kept, "kind": "select", "strategy": "brute_force", "steps": [step]}
    guarded = estimate({**selection, "held_out": 0.25}, every_dataset())
    assert guarded.problems == []
    assert (guarded.trials, guarded.confirming, guarded.calls_to_send) == (18, 3, 21)
