"""The default is the endpoint's own limit, at every door; stored runs keep their numbers."""

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.urls import reverse

from runs.models import Endpoint, Run
from runs.selectors.estimates.estimate import estimate
from runs.selectors.limits.limits import configuration_now
from runs.selectors.named_parts import every_dataset
from runs.selectors.runs.performance import lost_ms
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_run, run_document
from tests.runs.form_parts import small_form

pytestmark = pytest.mark.django_db


def test_the_form_starts_with_it_and_without_numbers_sets_no_limits(alice, dataset):
    client = client_of(alice)
    page = client.get(reverse("run_new")).content.decode()
    assert 'value="endpoint" checked' in page
    assert "as fast as it allows" in page
    assert "Empty: as many as the endpoint allows." in page
    client.post(reverse("run_new"), small_form(preset="custom", timeout_seconds="5"))
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


OLD = {"max_concurrent_requests": 10, "max_concurrent_genomes": 5, "genome_batch_size": 4}
OWN = {"schedule": "work_conserving", "candidate_batch_size": None}
TWO_LEVEL = {"schedule": "two_level", "batch_size": 5}
STORED: list[Any] = [
    ("evaluate", None, {"max_concurrent": 50, "requests_per_minute": 3500}),
    ("evaluate", {"max_concurrent": 8}, {"max_concurrent": 8, "requests_per_minute": 3500}),
    ("evaluate", {"max_concurrent": None}, {"max_concurrent": 50}),
    (
        "evaluate",
        {"requests_per_minute": None},
        {"max_concurrent": 50, "requests_per_minute": None},
    ),
    ("evaluate", {"preset": "aggressive"}, {"max_concurrent": 120, "attempts": 3}),
    ("evaluate", {"max_concurrent_requests": 10}, {"max_concurrent": 10}),
    ("evaluate", OLD, {"max_concurrent": 50, **OWN}),
    ("evaluate", TWO_LEVEL, {**TWO_LEVEL, "max_concurrent_candidates": None}),
    ("select", {"schedule": "two_level"}, {"schedule": "work_conserving"}),
]


def test_a_stored_run_keeps_the_limits_it_was_launched_with(alice, dataset):
    runs = []
    for kind, limits, _ in STORED:
        run = make_run(alice, dataset, kind=kind)
        if limits is not None:
            run.document["limits"] = limits
            run.save()
        runs.append(run)
    migration = import_module("runs.migrations.0024_frozen_limits")
    migration.freeze(apps, None)
    migration.freeze(apps, None)  # once more changes nothing
    for run, (_, limits, meant) in zip(runs, STORED, strict=True):
        found = configuration_now(Run.objects.get(pk=run.pk)).limits
        assert {name: getattr(found, name) for name in meant} == meant, limits


def test_what_was_waited_after_a_429_is_lost():
    refused, slow = ["call", "rate_limited", 50.0, 10.0], ["call", "timeout", 900.0, 5.0]
    answered = ["call", "ok", 300.0, 70.0]
    assert lost_ms([refused, answered]) == 310.0
    assert lost_ms([slow, answered]) == 0.0
