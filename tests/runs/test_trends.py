"""The trend of a configuration: its complete runs, in numbers for charts and programs."""

import json
import re

import pytest

from runs.models import RunState
from runs.services.configurations import save_configuration
from runs.services.people.sharing import share_configuration
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, make_person, make_run, run_document

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice():
    return make_person("alice")


@pytest.fixture
def dataset(alice):
    return make_dataset(alice, rows=10)


@pytest.fixture
def stored(alice, dataset):
    return save_configuration(alice, "nightly", run_document(dataset))


def went(stored, dataset, right, **fields):
    """A run of ten trials, so many of them right."""
    given = {"done": 10, "scored": 10, "value_sum": right, "value_square_sum": right}
    made = {"configuration": stored, "configuration_version": 1, "latency_bins": {"100": 10}}
    return make_run(stored.owner, dataset, **{**given, **made, "cost": 0.25, **fields})


def test_points_are_complete_runs_in_their_order(alice, stored, dataset):
    runs = [
        went(stored, dataset, 5),
        went(stored, dataset, 8, configuration_version=2, cost=0.5),
        went(stored, dataset, 1, state=RunState.CANCELLED),
        went(stored, dataset, 9, unpriced=10, cost=0.0, latency_bins={}),
    ]
    make_run(alice, dataset)
    found = Asker(alice).get("/configuration-trends/nightly").json()["points"]
    assert [one["run"] for one in found] == [runs[0].pk, runs[1].pk, runs[3].pk]
    assert [one["score"] for one in found] == [0.5, 0.8, 0.9]
    assert [one["cost"] for one in found] == [0.25, 0.5, None]
    assert [one["version"] for one in found] == [1, 2, 1]
    assert [one["latency_p50"] is None for one in found] == [False, False, True]
    assert all(one["low"] < one["score"] < one["high"] for one in found)
    few = Asker(alice).get("/configuration-trends/nightly", limit=1).json()["points"]
    assert [one["run"] for one in few] == [runs[3].pk]


def test_the_page_has_the_same_numbers_and_none_of_hidden_runs(alice, stored, dataset):
    runs = [went(stored, dataset, right, is_shared=right != 8) for right in (5, 8, 9)]
    share_configuration(stored, alice, is_shared=True)
    assert columns(alice, stored)["run"] == [run.pk for run in runs]
    assert columns(make_person("bob"), stored)["run"] == [runs[0].pk, runs[2].pk]


def test_one_run_is_no_trend(alice, stored, dataset):
    went(stored, dataset, 5)
    assert 'id="trend"' not in client_of(alice).get(stored.get_absolute_url()).text


def columns(person, stored):
    page = client_of(person).get(stored.get_absolute_url()).text
    found = re.search(r'<script id="trend" type="application/json">(.*?)</script>', page)
    return json.loads(found.group(1)) if found else None
