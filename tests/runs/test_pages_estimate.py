"""The estimate beside the form of a new run."""

import json
import re
from html import unescape

import pytest
from django.urls import reverse

from runs.models import Endpoint, Run
from tests.harness.factories import (
    client_of,
    make_dataset,
    make_endpoint,
)
from tests.runs.new_run_parts import FILLED
from workers.engine.spec.documents import read_document

pytestmark = pytest.mark.django_db


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


def test_the_form_can_be_copied_as_a_file_and_as_a_request(alice, filled):
    client, hostile = client_of(alice), "$(boom) 'it' </textarea><b>"
    answer = client.post(reverse("run_estimate"), {**filled, "name": hostile}).content.decode()
    copied = dict(
        re.findall(r"<textarea data-form-as-(\w+) hidden disabled>\n(.*?)</", answer, re.DOTALL)
    )
    document = read_document(unescape(copied["yaml"]))
    assert document["name"] == hostile
    first, *_, body, end = unescape(copied["curl"]).splitlines()
    assert first == "curl -sS -X POST http://testserver/api/v1/runs \\"
    assert (json.loads(body), end) == ({"configuration": document}, "CONFIGURATION")
    page = client.get(reverse("run_new")).content.decode()
    assert 'data-copies="yaml"' in page
    assert 'data-copies="curl"' in page
    lacking = client.post(reverse("run_estimate"), {"prompts": ["0"]}).content.decode()
    assert "data-form-as-curl" not in lacking  # the API would refuse it
