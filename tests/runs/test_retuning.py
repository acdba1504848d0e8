"""Limits of a run that goes on: who may change what, what is refused, and what is told."""

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.urls import reverse

from runs.models import Endpoint, Run, RunEvent, RunState
from runs.selectors.estimates.estimate import estimate
from runs.selectors.limits.limits import configuration_now
from runs.selectors.named_parts import every_dataset
from runs.selectors.runs.performance import lost_ms
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.control.limits import retune_run
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, make_run, run_document
from tests.runs.new_run_parts import small_form
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(alice):
    """Of no endpoint that is known, so that its own limits alone count."""
    run = make_run(alice, make_dataset(alice), state=RunState.RUNNING, ended=None)
    run.document["limits"] = {"preset": "balanced"}
    run.save(update_fields=["document"])
    return run


def limits_of(run):
    now = configuration_now(Run.objects.get(pk=run.pk))
    calls, requests = now.limits.max_concurrent, now.limits.requests_per_minute
    return calls, requests, now.limits.tokens_per_minute, now.priority


AS_LAUNCHED = (50, 3500, None, "normal")
CHANGES: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
    ({"max_concurrent": 20}, (20, 3500, None, "normal")),
    ({"max_concurrent": "20"}, (20, 3500, None, "normal")),
    ({"requests_per_minute": None}, (50, None, None, "normal")),
    ({"max_concurrent": None}, (None, 3500, None, "normal")),
    ({"tokens_per_minute": 90_000, "priority": "low"}, (50, 3500, 90_000, "low")),
]


@pytest.mark.postgresql("locks and JSON: changes of one run wait for each other and add up")
def test_changes_add_up_and_the_document_stays_as_it_was(run, alice):
    """The event of each says who, what and why."""
    document = run.document
    retune_run(run, alice, {"max_concurrent": 20, "requests_per_minute": None}, " too many 429s ")
    event = run.events.get()
    assert event.kind == "limit"
    assert event.message == (
        "alice changed calls at once from 50 to 20, requests a minute from 3,500 to no limit. "
        "Why: too many 429s"
    )
    assert event.data["who"] == "alice"
    assert event.data["moves"] == {"max_concurrent": [50, 20], "requests_per_minute": [3500, None]}
    retune_run(run, alice, {"requests_per_minute": 600}, "slower still")
    assert limits_of(run) == (20, 600, None, "normal")
    assert Run.objects.get(pk=run.pk).document == document


PROBLEMS: list[tuple[dict[str, Any], str, list[str]]] = [
    ({"max_concurrent": 0}, "why", ["max_concurrent"]),
    ({"max_concurrent": 5001, "priority": "urgent"}, "why", ["max_concurrent", "priority"]),
    ({"timeout_seconds": 5}, "why", ["timeout_seconds"]),
    ({"requests_per_minute": "many"}, "x" * 201, ["requests_per_minute", "reason"]),
    ({"max_concurrent": 5}, "x" * 201, ["reason"]),
]


def test_every_problem_is_listed_and_what_is_given_is_changed_and_the_rest_stays(run, alice):
    for changes, reason, paths in PROBLEMS:
        with pytest.raises(ConfigurationError) as caught:
            retune_run(run, alice, changes, reason)
        assert [problem.path for problem in caught.value.problems] == paths
    with pytest.raises(ConfigurationError, match="max_concurrent, requests_per_minute"):
        retune_run(run, alice, {"speed": 11}, "why")
    assert limits_of(run) == AS_LAUNCHED
    assert not run.events.exists()
    launched = Run.objects.values().get()
    for changes, expected in CHANGES:
        assert limits_of(run) == AS_LAUNCHED
        assert retune_run(run, alice, changes, "a try")
        assert limits_of(run) == expected, changes
        Run.objects.update(**launched)


def test_the_same_limits_again_are_no_event_and_a_finished_run_keeps_its_own(run, alice):
    version = run.version
    assert not retune_run(run, alice, {"max_concurrent": 50}, "why")
    run.refresh_from_db()
    assert (run.events.count(), run.version) == (0, version)
    for state in (RunState.COMPLETED, RunState.CANCELLED, RunState.FAILED):
        Run.objects.filter(pk=run.pk).update(state=state)
        assert not retune_run(run, alice, {"max_concurrent": 5}, "why")
        assert limits_of(run) == AS_LAUNCHED
        answer = Asker(alice).patch(f"/runs/{run.pk}/limits", {"max_concurrent": 5})
        assert answer.status_code == 409
    page = client_of(alice).get(run.get_absolute_url()).text
    assert "hidden" in page.split("data-limits", 1)[1].split(">", 1)[0], "nor does it offer any"


@pytest.mark.usefixtures("still_clock")
def test_the_chart_learns_when_and_how_the_limit_moved(run, alice):
    assert take_snapshot(run)["limit_steps"] == [[0, 50]]
    retune_run(run, alice, {"max_concurrent": 20}, "slower")
    retune_run(run, alice, {"priority": "high"}, "it is urgent")
    retune_run(run, alice, {"max_concurrent": 80}, "faster")
    run.refresh_from_db()
    snapshot = take_snapshot(run)
    assert (snapshot["limit"], snapshot["limit_steps"]) == (80, [[0, 50], [0, 20], [0, 80]])
    reasons = [mark["text"].split(". Why: ")[1] for mark in snapshot["marks"]]
    assert reasons == ["slower", "it is urgent", "faster"]
    assert snapshot["text"]["limits"].startswith("80 calls at once, 3,500 requests a minute, high")
    RunEvent.objects.bulk_create(
        RunEvent(run=run, kind="limit", message=str(limit), data={"moves": {}})
        for limit in range(101, 161)
    )
    assert len(take_snapshot(run)["marks"]) == 50
    marks = take_snapshot(run, series=False)["marks"]
    assert [mark["text"] for mark in marks] == ["156", "157", "158", "159", "160"]


def test_the_form_of_the_page_changes_limits_without_scripts(run, alice):
    """What is wrong is said at its field, and what was typed stays."""
    bad = {"max_concurrent": 0, "resume": "yes", "reason": ["x"]}
    told = Asker(alice).patch(f"/runs/{run.pk}/limits", bad).json()["problems"]
    assert {problem["path"] for problem in told} == {"max_concurrent", "resume", "reason"}
    client, address = client_of(alice), reverse("run_retune", args=[run.pk])
    page = client.get(run.get_absolute_url())
    assert page.context["form"].initial["max_concurrent"] == 50
    assert "Why (optional)" in page.text
    blank = {f"budget_{what}": "" for what in ("dollars", "calls", "seconds")}
    blank["tokens_per_minute"] = ""
    typed = {**blank, "requests_per_minute": "3,500", "priority": "normal"}
    answer = client.post(address, {**typed, "max_concurrent": "lots", "reason": "x" * 201})
    assert answer.status_code == 400
    assert set(answer.context["form"].errors) == {"max_concurrent", "reason"}
    assert 'value="lots"' in answer.text
    assert " open" in answer.text.split('id="limits"', 1)[1].split(">", 1)[0]
    assert limits_of(run) == AS_LAUNCHED
    answer = client.post(address, {**typed, "max_concurrent": "12", "reason": ""}, follow=True)
    assert "The limits are changed" in answer.text
    assert limits_of(run) == (12, 3500, None, "normal")
    assert list(run.events.get().data["moves"]) == ["max_concurrent"]


# --- The default is the endpoint's own limit, at every door; stored runs keep their numbers


def test_the_form_starts_with_it_rest_takes_one_and_estimates_meet_it(browser, dataset, asker):
    page = browser.get(reverse("run_new")).text
    assert 'value="endpoint" checked' in page
    assert "as fast as it allows" in page
    assert "Empty: as many as the endpoint allows." in page
    browser.post(reverse("run_new"), small_form(preset="custom", timeout_seconds="5"))
    limits = configuration_now(Run.objects.get()).limits
    assert (limits.max_concurrent, limits.requests_per_minute) == (None, None)
    assert (limits.timeout_seconds, limits.attempts) == (5.0, 4)
    created = asker.post("/runs", {"configuration": run_document(dataset)}).json()
    path = f"/runs/{created['id']}/limits"
    assert asker.patch(path, {"requests_per_minute": 60}).json()["max_concurrent"] is None
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
