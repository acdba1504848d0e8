"""Launching: everything is checked first, then stored whole, once."""

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from runs.models import Candidate, Chunk, Dataset, Endpoint, Run
from runs.services.datasets.storing import store_rows
from runs.services.demo import start_demo
from runs.services.runs import cancel_run, create_run
from tests.harness.factories import run_document
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db


@pytest.fixture
def document(alice, endpoint):
    rows = [{"question": "What is 2 + 3?", "expected": "5"}] * 3
    store_rows(alice, "sums", rows, share=True)
    prompts = [{"name": "a"}, {"name": "b", "system": "Be brief."}]
    return {**run_document(Dataset(name="sums"), prompts=prompts, repeats=2), "dataset": "sums"}


def test_a_run_freezes_what_it_depends_on(alice, document):
    run = create_run(alice, document)
    assert (run.state, run.planned) == ("queued", 2 * 1 * 3 * 2)
    assert run.document["dataset"] == "sums@1"
    assert run.snapshot_of["endpoints"]["simulated"]["max_concurrent"] == 20
    names = [candidate.name for candidate in run.candidates.all()]
    assert names == ["a · simulated/sim-small", "b · simulated/sim-small"]
    store_rows(alice, "sums", [{"question": "changed", "expected": "1"}])
    assert Run.objects.get(pk=run.pk).dataset.version == 1


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"dataset": "none"}, "dataset", "Choose one of: sums"),
    ({"models": ["elsewhere/x"]}, "models.0.endpoint", "Choose one of: simulated"),
    ({"prompts": [{"name": "a", "user": "{{answer}}"}]}, "prompts.0.user", "question, expected"),
    ({"dataset": {"rows": [{"a": "1"}, {"b": "1"}]}}, "dataset.rows.2", "lacks 'a'"),
]


def test_a_bad_document_stores_nothing(alice, document):
    for change, path, words in BAD:
        with pytest.raises(ConfigurationError) as caught:
            create_run(alice, {**document, **change})
        assert words in dict(caught.value.problems)[path]
    for model in (Run, Candidate, Chunk):
        assert not model.objects.exists()


def test_rows_given_in_place_belong_to_their_runs(alice, bob, document):
    rows = [{"question": "What is 1 + 1?", "expected": "2"}]
    first = create_run(alice, {**document, "dataset": {"rows": rows}})
    second = create_run(alice, {**document, "dataset": {"rows": rows}})
    assert first.dataset == second.dataset == Dataset.objects.get(is_hidden=True)
    assert first.document["dataset"] == f"{first.dataset.name}@1"
    assert create_run(bob, {**document, "dataset": {"rows": rows}}).dataset != first.dataset


@pytest.mark.postgresql("locks: launches at once with one key")
@pytest.mark.django_db(transaction=True)
def test_twenty_launches_at_once_with_one_key_make_one_run(alice, document):
    def launch(_):
        try:
            return create_run(alice, document, "key-1").pk
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as pool:
        assert len(set(pool.map(launch, range(20)))) == 1
    assert Run.objects.count() == 1


def test_the_demo_brings_its_own_parts_and_changes_none(alice):
    run = start_demo(alice)
    assert run.planned == 3 * 2 * 60
    endpoint = Endpoint.objects.get(name="simulated")
    Endpoint.objects.update(max_concurrent=3)
    start_demo(alice)
    endpoint.refresh_from_db()
    assert endpoint.max_concurrent == 3
    assert Dataset.objects.count() == 1


def test_nobody_has_more_runs_going_on_than_allowed(alice, bob, document, settings):
    settings.LIVE_RUNS = 2
    first = create_run(alice, document, "once")
    create_run(alice, document, "twice")
    with pytest.raises(ConfigurationError, match="You have 2 runs that have not ended"):
        create_run(alice, document)
    assert create_run(alice, document, "once") == first  # not a new one
    assert create_run(bob, document, "once") != first
    cancel_run(first)
    create_run(alice, document)


@contextmanager
def counted_calls():
    """How many functions are called: a measure of time that depends on no machine."""
    calls = [0]

    def count(frame, event, argument):
        calls[0] += event == "call"

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def test_a_grid_of_a_billion_trials_is_refused_at_once_and_writes_nothing(alice, document):
    """Nor are rows stored that it brings along."""
    rows = {"rows": [{"question": str(n), "expected": "1"} for n in range(2000)]}
    prompts = [{"name": f"p{n}"} for n in range(500)]
    large = {**document, "dataset": rows, "prompts": prompts, "repeats": 1000}
    told = "1,000,000,000 trials are more than the 2,000,000"
    with counted_calls() as calls, pytest.raises(ConfigurationError, match=told):
        create_run(alice, large)
    assert calls[0] < len(prompts) * 2000, "it looked at every prompt with every case"
    assert (Dataset.objects.count(), Run.objects.count(), Candidate.objects.count()) == (1, 0, 0)
