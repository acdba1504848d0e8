"""The default is the endpoint's own limit, at every door; stored runs keep their numbers."""

from importlib import import_module

import pytest
from django.apps import apps
from django.urls import reverse

from runs.models import Endpoint, Run
from runs.selectors.estimates.estimate import estimate
from runs.selectors.limits.limits import configuration_now
from runs.selectors.named_parts import every_dataset
from runs.selectors.runs.performance import lost_ms
from tests.api.asking import Asker
from tests.harness.factories import (
    client_of,
    make_dataset,
    make_endpoint,
    make_run,
    run_document,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset(alice):
    make_endpoint()
    return make_dataset(alice)


def test_the_form_starts_with_it(alice, dataset):
    page = client_of(alice).get(reverse("run_new")).content.decode()
    assert 'value="endpoint" checked' in page
    assert "as fast as it allows" in page
    assert "Empty: as many as the endpoint allows." in page


def test_a_form_without_numbers_sets_no_limits(alice, dataset):
    filled = {
        "key": "k",
        "name": "n",
        "dataset": "sums",
        "prompts": ["0"],
        "prompt-0-name": "plain",
        "prompt-0-user": "{{question}}",
        "models": ["simulated/sim-small"],
        "scorers": ["exact"],
        "preset": "custom",
        "timeout_seconds": "5",
    }
    client_of(alice).post(reverse("run_new"), filled)
    limits = configuration_now(Run.objects.get()).limits
    assert (limits.max_concurrent, limits.requests_per_minute) == (None, None)
    assert (limits.timeout_seconds, limits.attempts) == (5.0, 4)


def test_rest_says_that_there_is_no_limit_and_takes_one(alice, dataset):
    asker = Asker(alice)
    created = asker.post("/runs", {"configuration": run_document(dataset)}).json()
    path = f"/runs/{created['id']}/limits"
    assert asker.patch(path, {"requests_per_minute": 60}).json()["max_concurrent"] is None
    assert asker.patch(path, {"max_concurrent": 9}).json()["max_concurrent"] == 9
    assert asker.patch(path, {"max_concurrent": None}).json()["max_concurrent"] is None


def test_the_estimate_meets_the_endpoints_limit_first(dataset):
    Endpoint.objects.update(max_concurrent=2)
    found = estimate(run_document(dataset), every_dataset())
    assert (found.max_concurrent, found.slots) == (None, 2)
    assert found.limited_by.startswith("2 calls at once of simulated/sim-small;")
    assert found.slots_text.startswith("2 calls at once, as the endpoints allow:")
    own = estimate(run_document(dataset, limits={"max_concurrent": 1}), every_dataset())
    assert own.limited_by.startswith("1 calls at once of this run;")


@pytest.mark.parametrize(
    ("kind", "limits", "meant"),
    [
        (None, None, {"max_concurrent": 50, "requests_per_minute": 3500}),
        (None, {"max_concurrent": 8}, {"max_concurrent": 8, "requests_per_minute": 3500}),
        (None, {"max_concurrent": None}, {"max_concurrent": 50}),
        (None, {"requests_per_minute": None}, {"max_concurrent": 50, "requests_per_minute": None}),
        (None, {"preset": "aggressive"}, {"max_concurrent": 120, "attempts": 3}),
        (None, {"max_concurrent_requests": 10}, {"max_concurrent": 10}),
        (
            None,
            {"max_concurrent_requests": 10, "max_concurrent_genomes": 5, "genome_batch_size": 4},
            {"max_concurrent": 50, "schedule": "work_conserving", "candidate_batch_size": None},
        ),
        (
            None,
            {"schedule": "two_level", "batch_size": 5},
            {"schedule": "two_level", "batch_size": 5, "max_concurrent_candidates": None},
        ),
        ("select", {"schedule": "two_level"}, {"schedule": "work_conserving"}),
    ],
)
def test_a_stored_run_keeps_the_limits_it_was_launched_with(alice, dataset, kind, limits, meant):
    run = make_run(alice, dataset)
    if limits is not None:
        run.document["limits"] = limits
    if kind is not None:
        run.kind = kind
    run.save()
    migration = import_module("runs.migrations.0024_frozen_limits")
    migration.freeze(apps, None)
    migration.freeze(apps, None)  # once more changes nothing
    found = configuration_now(Run.objects.get()).limits
    assert {name: getattr(found, name) for name in meant} == meant


def test_what_was_waited_after_a_429_is_lost():
    refused, slow = ["call", "rate_limited", 50.0, 10.0], ["call", "timeout", 900.0, 5.0]
    answered = ["call", "ok", 300.0, 70.0]
    assert lost_ms([refused, answered]) == 310.0
    assert lost_ms([slow, answered]) == 0.0
