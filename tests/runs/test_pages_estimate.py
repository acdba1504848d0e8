"""What few runs need of the new-run form: the Advanced fold, how scorers combine; and what stands
beside it: the estimate, what a launch does, and what differs from the run before."""

import json
import re
from html import unescape

import pytest
from django.urls import reverse

from runs.models import Endpoint, Run
from runs.services.runs import create_run
from tests.harness.factories import client_of, run_document
from tests.runs.new_run_parts import FILLED
from workers.engine.spec.documents import read_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("dataset")]


@pytest.fixture
def browser(alice):
    return client_of(alice)


def estimate(browser, **changes):
    return browser.post(reverse("run_estimate"), {**FILLED, **changes})


def test_the_estimate_counts_calls_without_starting_anything(browser):
    answer = estimate(browser)
    assert answer.status_code == 200
    text = " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())
    assert "24 trials" in text
    assert "8 calls at once: 4 candidates × 2 cases." in text
    assert "raising Calls at once (max_concurrent)" in text
    assert answer.context["estimate"].review == (
        "Launch tries 4 candidates with simulated/sim-small and simulated/sim-large on 3 cases, "
        "2 times each, scored by numeric. It sends up to 24 calls. Every answer is asked for "
        "again, whatever the cache has. No budget stops it."
    )
    stops = estimate(browser, budget_calls="10", **{"advanced-fail_on_error": "0.1"})
    end = "It pauses at 10 calls or when more than 10% of its trials fail."
    assert str(stops.context["estimate"].review).endswith(end)
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("changes", "at_once", "says"),
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
def test_the_estimate_shares_the_calls_that_are_really_allowed(browser, changes, at_once, says):
    Endpoint.objects.update(max_concurrent=at_once)
    assert says in estimate(browser, **changes).content.decode()


def test_the_estimate_of_an_unfinished_form_says_what_is_missing(browser):
    answer = estimate(browser, models=[])
    empty = browser.post(reverse("run_estimate"), {})
    assert answer.status_code == empty.status_code == 200
    assert answer.context["estimate"] is not None
    assert 'href="#id_models"' in empty.content.decode()


def test_the_form_can_be_copied_as_a_file_and_as_a_request(browser):
    hostile = "$(boom) 'it' </textarea><b>"
    answer = estimate(browser, name=hostile).content.decode()
    copied = dict(
        re.findall(r"<textarea data-form-as-(\w+) hidden disabled>\n(.*?)</", answer, re.DOTALL)
    )
    document = read_document(unescape(copied["yaml"]))
    assert document["name"] == hostile
    first, *_, body, end = unescape(copied["curl"]).splitlines()
    assert first == "curl -sS -X POST http://testserver/api/v1/runs \\"
    assert (json.loads(body), end) == ({"configuration": document}, "CONFIGURATION")
    page = browser.get(reverse("run_new")).content.decode()
    assert 'data-copies="yaml"' in page
    assert 'data-copies="curl"' in page
    lacking = browser.post(reverse("run_estimate"), {"prompts": ["0"]}).content.decode()
    assert "data-form-as-curl" not in lacking  # the API would refuse it


def test_it_is_said_what_differs_from_the_run_before(alice, browser, dataset):
    run = create_run(alice, run_document(dataset))
    page = browser.get(reverse("run_new"), {"run": run.pk})
    assert f"The same as run #{run.pk}." in page.content.decode()
    filled = page.context["filled"]
    typed = {
        "mode": "yaml",
        "yaml": f"{{name: other, kind: evaluate, dataset: {filled.dataset}, repeats: 3, prompts: "
        "[{name: plain, user: '{{question}}'}], models: [simulated/sim-small], scorers: [exact]}",
    }
    panel = browser.post(f"{reverse('run_estimate')}?run={run.pk}", typed)
    assert [(one.key, one.before, one.after) for one in panel.context["differs"].shown] == [
        ("name", "first try", "other"),
        ("repeats", "1", "3"),
    ]
