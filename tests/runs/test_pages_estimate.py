"""The estimate beside the form of a new run."""

import re

import pytest
from django.urls import reverse

from runs.models import Endpoint, Run
from tests.runs.new_run_parts import FILLED
from tests.runs.page_parts import (
    client_of,
    make_dataset,
    make_endpoint,
)

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture
def dataset(alice):
    make_endpoint()
    return make_dataset(alice)


@pytest.fixture
def filled(dataset):
    return {**FILLED}


def test_the_estimate_counts_calls_without_starting_anything(alice, filled, dataset):
    answer = client_of(alice).post(reverse("run_estimate"), filled)
    assert answer.status_code == 200
    text = re.sub(r"<[^>]+>|\s+", " ", answer.content.decode())
    assert "24 trials" in re.sub(" +", " ", text)
    assert "8 calls at once: 4 candidates × 2 cases." in re.sub(" +", " ", text)
    assert "raising Calls at once (max_concurrent)" in text
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("changes", "endpoint", "says"),
    [
        pytest.param(
            {"prompts": ["0"], "other_models": "", "repeats": "1", "max_concurrent": "4"},
            200,
            "4 calls at once: 1 candidate × 3 cases; 1 stay unused: there are no more trials.",
            id="one candidate, few cases",
        ),
        pytest.param(
            {"max_concurrent": "50"},
            2,
            "4 calls at once (the endpoints allow no more of the 50): 4 candidates × 1 case.",
            id="two models of an endpoint with two calls at once each",
        ),
        pytest.param(
            {"max_concurrent": "50"},
            200,
            "50 calls at once: 4 candidates × 6 cases; 26 stay unused: there are no more trials.",
            id="repeats are cases",
        ),
    ],
)
def test_the_estimate_shares_the_calls_that_are_really_allowed(
    alice, filled, changes, endpoint, says
):
    Endpoint.objects.update(max_concurrent=endpoint)
    answer = client_of(alice).post(reverse("run_estimate"), {**filled, **changes})
    assert says in answer.content.decode()


def test_the_estimate_of_an_unfinished_form_says_what_is_missing(alice, filled):
    answer = client_of(alice).post(reverse("run_estimate"), {**filled, "models": []})
    answer_empty = client_of(alice).post(reverse("run_estimate"), {})
    assert answer.status_code == answer_empty.status_code == 200
    assert answer.context["estimate"] is not None
    assert 'href="#id_models"' in answer_empty.content.decode()
