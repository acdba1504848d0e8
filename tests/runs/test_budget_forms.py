"""The budget on the form of a new run, and in its estimate."""

import pytest
from django.test import Client
from django.urls import reverse

from runs.models import Endpoint, Run
from runs.selectors.estimates.estimate import estimate
from runs.selectors.limits.budgets import budget_of
from runs.selectors.named_parts import every_dataset
from tests.harness.factories import (
    client_of,
    make_dataset,
    make_endpoint,
    run_document,
)

pytestmark = pytest.mark.django_db

PRICES = {"sim-small": {"input": 1.0, "output": 2.0}}


@pytest.fixture
def dataset(alice):
    return make_dataset(alice)


@pytest.fixture
def endpoint():
    return make_endpoint()


@pytest.fixture
def form():
    return {
        "key": "k",
        "mode": "form",
        "name": "sums",
        "dataset_source": "stored",
        "dataset": "sums",
        "prompts": "0",
        "prompt-0-name": "plain",
        "prompt-0-user": "{{question}}",
        "models": "simulated/sim-small",
        "scorers": "exact",
        "repeats": "1",
        "seed": "0",
        "preset": "balanced",
        "cache": "use",
    }


def test_the_form_stores_a_budget_and_shows_it_again(alice, dataset, endpoint, form):
    client = client_of(alice)
    client.post(reverse("run_new"), {**form, "budget_calls": "2", "budget_seconds": "60"})
    run = Run.objects.get()
    assert budget_of(run).model_dump() == {"dollars": None, "calls": 2, "seconds": 60.0}
    again = client.get(reverse("run_new"), {"run": run.pk}).context["filled"]
    assert (again.mode, again.budget) == ("form", {"dollars": "", "calls": "2", "seconds": "60"})


@pytest.mark.parametrize(
    ("field", "typed", "told"),
    [
        ("budget_calls", "none", "Input should be a valid integer"),
        ("budget_calls", "0", "Input should be greater than 0"),
        ("budget_dollars", "5", "A budget in dollars needs the price of every model"),
    ],
)
def test_the_form_says_what_is_wrong_at_the_field(
    alice, dataset, endpoint, form, field, typed, told
):
    answer = client_of(alice).post(reverse("run_new"), {**form, field: typed})
    assert answer.status_code == 400
    (problem,) = answer.context["problems"]
    assert problem.field == f"id_{field}"
    assert told in problem.message


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        ({"calls": 2}, ["It may take 3 calls, and pauses at the budget of 2 calls."]),
        ({"calls": 3, "seconds": 3600}, []),
        ({"dollars": 1e-6}, ["and pauses at the budget of $0.000001."]),
        ({"seconds": 0.01}, ["and pauses at the budget of 0.0 s."]),
    ],
)
def test_the_estimate_says_when_it_exceeds_the_budget(dataset, endpoint, budget, told):
    Endpoint.objects.update(prices=PRICES)
    found = estimate(run_document(dataset, budget=budget), every_dataset()).over_budget
    assert len(found) == len(told)
    assert all(line.endswith(end) for line, end in zip(found, told, strict=True))


def test_the_estimate_panel_shows_it(alice, dataset, endpoint, form):
    client: Client = client_of(alice)
    page = client.post(reverse("run_estimate"), {**form, "budget_calls": "2"}).content.decode()
    assert "pauses at the budget of 2 calls" in page
