"""A kind that only the tests know: every page, the API and the commands take it as it is."""

import re

import pytest
import yaml
from django.urls import reverse

from runs.models import Configuration, Run
from runs.selectors.comparing.comparison import compare_runs
from runs.services.runs import create_run
from tests.harness.factories import run_document, toy_document
from tests.runs.comparing_parts import store_outcomes

pytestmark = pytest.mark.django_db

TABS = ("run", "run_leaderboard", "run_scores", "run_errors", "run_events", "run_configuration")


@pytest.fixture
def document(dataset, toy):
    kept = toy_document(run_document(dataset, name="a toy", limits={}))
    return {name: kept[name] for name in kept if name not in {"rounds", "writer"}}


@pytest.fixture
def run(alice, document):
    return store_outcomes(create_run(alice, document), [1.0])


def test_pages_api_and_comparisons_are_those_of_most_kinds(browser, run, asker, document):
    pages = {tab: browser.get(reverse(tab, args=[run.pk])) for tab in TABS}
    assert {tab: page.status_code for tab, page in pages.items()} == dict.fromkeys(TABS, 200)
    assert "Leaderboard" in pages["run"].text
    assert re.search(r"Toy\s+#", pages["run"].text)
    listed = browser.get(reverse("runs"), {"kind": "toy"}).text
    assert "a toy" in listed
    assert ">Toy</option>" in listed
    missing = browser.get(f"/runs/{run.pk}/combinations.csv")
    assert missing.status_code == 409
    assert "of kind toy: it has no combinations.csv" in missing.text
    assert asker.get(f"/runs/{run.pk}").json()["kind"] == "toy"
    assert len(asker.get(f"/runs/{run.pk}/candidates").json()["data"]) == 1
    assert asker.get(f"/runs/{run.pk}/combinations").status_code == 409
    other = asker.post("/runs", {"configuration": document})
    assert other.status_code == 202
    assert compare_runs(run, Run.objects.get(pk=other.json()["id"])).base.n == 1


def test_it_is_written_as_yaml_where_it_has_no_form(alice, browser, run):
    blank = browser.get(reverse("run_new"), {"kind": "toy"}).context["filled"]
    assert (blank.mode, blank.kind) == ("form", "evaluate")
    kept = {"name": "kept", "kind": "toy", "document": run.document}
    stored = Configuration.objects.create(owner=alice, **kept)
    for start in ({"run": run.pk}, {"configuration": stored.pk}):
        filled = browser.get(reverse("run_new"), start).context["filled"]
        assert filled.mode == "yaml"
        assert yaml.safe_load(filled.yaml)["prompt"]["name"] == "first"
    sent = {"key": "k", "mode": "yaml", "kind": "evaluate", "yaml": filled.yaml}
    assert browser.post(reverse("run_new"), sent).status_code == 302
    assert Run.objects.filter(kind="toy").count() == 2
