"""Limits of a run that goes on: who may change what, what is refused, and what is told."""

from typing import Any

import pytest
from django.urls import reverse

from runs.models import Run, RunEvent, RunState
from runs.selectors.limits.limits import configuration_now
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.control.limits import retune_run
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, make_run
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


def test_what_is_given_is_changed_and_the_rest_stays(run, alice):
    launched = Run.objects.values().get()
    for changes, expected in CHANGES:
        assert limits_of(run) == AS_LAUNCHED
        assert retune_run(run, alice, changes, "a try")
        assert limits_of(run) == expected, changes
        Run.objects.update(**launched)


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


def test_every_problem_is_listed_and_nothing_is_stored(run, alice):
    for changes, reason, paths in PROBLEMS:
        with pytest.raises(ConfigurationError) as caught:
            retune_run(run, alice, changes, reason)
        assert [problem.path for problem in caught.value.problems] == paths
    with pytest.raises(ConfigurationError, match="max_concurrent, requests_per_minute"):
        retune_run(run, alice, {"speed": 11}, "why")
    assert limits_of(run) == AS_LAUNCHED
    assert not run.events.exists()


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
    assert snapshot["limit"] == 80
    assert snapshot["limit_steps"] == [[0, 50], [0, 20], [0, 80]]
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
