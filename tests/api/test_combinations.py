"""A selection, through the API."""

import csv
from io import StringIO

import pytest
import yaml

from tests.harness.factories import make_dataset
from tests.runs.selection_parts import make_selection

pytestmark = pytest.mark.django_db


@pytest.fixture
def selection(alice, dataset):
    return make_selection(alice, make_dataset(alice, "thirty", rows=30))


def test_a_selection_is_told_with_its_rounds_and_what_was_saved(asker, selection):
    found = asker.get(f"/runs/{selection.pk}/combinations").json()
    best, other = found["combinations"]
    assert (best["name"], best["is_best"], best["on_front"]) == (
        "solver=simulated/sim-large",
        True,
        True,
    )
    assert best["bounds"]["low"] < best["bounds"]["mean"] < best["bounds"]["high"]
    assert other["eliminated_in"] == len(found["rounds"])
    assert "worse than solver=simulated/sim-large" in other["why"]
    assert found["evaluations"] == selection.done < found["brute_force_evaluations"] == 60
    assert found["brute_force_dollars"] == pytest.approx(60 * 0.002)
    assert found["is_separable"]
    assert found["rounds"][-1]["alive"] == found["alive"] == 1


def test_a_selection_is_a_csv_file_if_asked_so(asker, selection):
    answer = asker.ask("get", f"/runs/{selection.pk}/combinations", headers={"Accept": "text/csv"})
    assert answer["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(StringIO(answer.content.decode())))
    assert [row["is_best"] for row in rows] == ["True", "False"]


def test_the_winner_is_a_litellm_configuration(asker, selection):
    as_json = asker.get(f"/runs/{selection.pk}/litellm").json()
    as_yaml = asker.ask(
        "get", f"/runs/{selection.pk}/litellm", headers={"Accept": "application/yaml"}
    )
    assert yaml.safe_load(as_yaml.content) == as_json
    assert as_json["model_list"][0]["litellm_params"]["api_key"].startswith("os.environ/")


@pytest.mark.parametrize("what", ["combinations", "litellm"])
def test_other_kinds_of_runs_have_none(asker, run, what):
    answer = asker.get(f"/runs/{run.pk}/{what}")
    assert answer.status_code == 409
    assert "no combinations" in answer.json()["detail"]
