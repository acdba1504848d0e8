"""Budgets of runs: in the form, what is refused and told, and how a stopped run goes on."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils.timezone import now

from runs.forms.starting_points import from_document
from runs.models import Endpoint, Run, RunState
from runs.selectors.estimates.estimate import estimate
from runs.selectors.limits.budgets import budget_of, read_budget
from runs.selectors.named_parts import every_dataset
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.control.budgets import stop_for_budget, watch_budget, watch_seconds
from runs.services.control.limits import retune_run
from runs.services.control.pauses import pause_run
from runs.services.control.resuming import resume_run
from runs.services.runs import create_run
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_run, run_document
from tests.runs.new_run_parts import small_form
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db

PRICES = {"sim-small": {"input": 1.0, "output": 2.0}}


def going(owner, dataset):
    return make_run(owner, dataset, state=RunState.RUNNING, ended=None, going_since=now())


@pytest.fixture
def run(alice, dataset):
    return going(alice, dataset)


def with_budget(run, **budget):
    run.document = {**run.document, "budget": budget}
    run.save()
    return run


def reload(run):
    return Run.objects.get(pk=run.pk)


def watch(run):
    watch_budget(reload(run), now())
    return reload(run)


def test_dollars_without_a_price_are_refused_with_models_and_advice(alice, dataset, endpoint):
    models = ["simulated/sim-small", "simulated/sim-large"]
    document = run_document(dataset, models=models, budget={"dollars": 1})
    endpoint.prices = PRICES
    endpoint.save()
    with pytest.raises(ConfigurationError) as caught:
        create_run(alice, document)
    problem = caught.value.problems[0]
    assert problem.path == "budget.dollars"
    assert "unknown: simulated/sim-large. Enter it under Endpoints (simulated)" in problem.message
    assert estimate(document, every_dataset()).problems == [problem]
    assert not Run.objects.exists()
    assert create_run(alice, run_document(dataset, budget={"dollars": 1})).pk
    assert create_run(alice, run_document(dataset, models=models, budget={"calls": 1})).pk
    # As well when the budget comes later.
    run = going(alice, dataset)
    Endpoint.objects.update(prices={})
    with pytest.raises(ConfigurationError) as caught:
        retune_run(run, alice, {"budget": {"dollars": 2}}, "why")
    assert [problem.path for problem in caught.value.problems] == ["budget.dollars"]
    Endpoint.objects.update(prices=PRICES)
    assert retune_run(run, alice, {"budget": {"dollars": 2}}, "why")
    assert budget_of(reload(run)).dollars == 2


USES: list[tuple[dict[str, Any], dict[str, Any], float, str]] = [
    ({"calls": 100}, {"calls_sent": 80}, 0.8, "80 of 100 calls"),
    ({"calls": 1}, {"calls_sent": 0}, 0.0, "0 of 1 call"),
    ({"dollars": 2}, {"cost": 0.5}, 0.25, "$0.50 of $2.00"),
    ({"seconds": 100}, {"ran_seconds": 40.0, "going_since": None}, 0.4, "40 s of 1m 40s"),
]


def test_use_is_told_against_the_budget_and_the_page_warns_before_the_end(run, browser):
    for budget, used, share, text in USES:
        Run.objects.filter(pk=with_budget(run, **budget).pk).update(**used)
        (line,) = read_budget(reload(run), now())
        assert line.share == pytest.approx(share)
        assert line.text == text
    with_budget(run, calls=100)
    assert take_snapshot(reload(run))["text"]["notice"] == ""
    Run.objects.filter(pk=run.pk).update(calls_sent=85)
    snapshot = take_snapshot(reload(run))
    assert snapshot["budget"]["calls"]["is_near"]
    assert snapshot["text"]["notice"].startswith("The budget is nearly used: 85 of 100 calls.")
    assert snapshot["text"]["notice"] in browser.get(run.get_absolute_url()).text


def test_time_is_watched_also_where_nobody_writes_and_nothing_without_a_budget(run, alice):
    Run.objects.filter(pk=run.pk).update(calls_sent=10**6, cost=10**6)
    assert watch(run).state == RunState.RUNNING
    assert take_snapshot(reload(run))["budget"] == {}
    Run.objects.filter(pk=with_budget(run, calls=10).pk).update(calls_sent=9)
    pause_run(run, alice)
    assert resume_run(run, alice), "who paused it below the budget may resume it"
    Run.objects.filter(pk=with_budget(run, seconds=60).pk).update(
        started=now() - timedelta(hours=1), going_since=now() - timedelta(seconds=61)
    )
    watch_seconds()
    assert reload(run).state == RunState.PAUSED


def test_at_80_percent_it_is_said_once_and_again_for_a_raised_budget(run, alice):
    with_budget(run, calls=100)
    for calls, warnings in [(79, 0), (80, 1), (99, 1)]:
        Run.objects.filter(pk=run.pk).update(calls_sent=calls)
        assert watch(run).state == RunState.RUNNING
        assert run.events.filter(kind="budget").count() == warnings
    retune_run(run, alice, {"budget": {"calls": 110}}, "why")
    watch(run)
    assert [event.data["total"] for event in run.events.filter(kind="budget")] == [110, 100]


USED_UP: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"calls": 10}, {"calls_sent": 10}, "10 calls"),
    ({"dollars": 0.5}, {"cost": 0.5}, "$0.50"),
    ({"seconds": 60}, {"ran_seconds": 61.0}, "1m 00s"),
]


def test_a_budget_that_is_used_up_pauses_the_run_and_says_what_to_do(alice, dataset):
    for budget, used, amount in USED_UP:
        run = going(alice, dataset)
        Run.objects.filter(pk=with_budget(run, **budget).pk).update(**used)
        paused = watch(run)
        told = f"The budget of {amount} is used up: raise it to resume, or cancel the run"
        assert (paused.state, paused.reason) == (RunState.PAUSED, told)
        assert watch(run).events.count() == paused.events.count()
    run = going(alice, dataset)
    Run.objects.filter(pk=with_budget(run, calls=3).pk).update(calls_sent=3, done=3)
    assert watch(run).state == RunState.RUNNING, "it has all its answers"


def test_resuming_needs_a_raised_budget_also_if_more_was_counted_than_stored(run, alice):
    stopped(run)
    for total in (10, 9):
        retune_run(run, alice, {"budget": {"calls": total}}, "why")
        told = f"budget of {total} calls is used up. Raise it"
        with pytest.raises(ConfigurationError, match=told):
            resume_run(run, alice)
        assert reload(run).state == RunState.PAUSED
    retune_run(run, alice, {"budget": {"calls": 11}}, "why")
    assert resume_run(run, alice)
    assert reload(run).spent_budgets == {}
    Run.objects.update(calls_sent=8, limits_now={})
    assert stop_for_budget(run.pk, "calls")
    assert "used up (no room for another call): raise it" in reload(run).reason
    with pytest.raises(ConfigurationError):
        resume_run(run, alice)
    retune_run(run, alice, {"budget": {"calls": None}}, "why")
    assert resume_run(run, alice)
    assert not stop_for_budget(run.pk, "calls")  # an old word: there is no such budget now


def test_the_event_of_a_change_says_what_moved_and_a_bad_one_is_refused_at_its_place(run, alice):
    with_budget(run, calls=100)
    retune_run(run, alice, {"budget": {"calls": 2500, "seconds": 60}}, "longer")
    assert run.events.get().message == (
        "alice changed budget of calls from 100 to 2,500, "
        "budget of seconds from no limit to 60.0. Why: longer"
    )
    for budget, path in (
        ({"calls": 0}, "budget.calls"),
        ({"calls": 1.5}, "budget.calls"),
        ({"seconds": -1}, "budget.seconds"),
        ({"hours": 1}, "budget.hours"),
        (5, "budget"),
    ):
        with pytest.raises(ConfigurationError) as caught:
            retune_run(run, alice, {"budget": budget}, "why")
        assert [problem.path for problem in caught.value.problems] == [path]


def stopped(run):
    """A run whose ten calls are used up."""
    Run.objects.filter(pk=with_budget(run, calls=10).pk).update(calls_sent=10)
    return watch(run)


def test_by_rest_a_run_is_not_resumed_until_its_budget_is_raised(run, alice):
    stopped(run)
    asker, limits = Asker(alice), f"/runs/{run.pk}/limits"
    changes = {"max_concurrent": 3, "resume": True}
    for refused in (
        asker.post(f"/runs/{run.pk}/resume"),
        asker.patch(limits, {**changes, "budget": {"calls": 9}}),
    ):
        assert refused.status_code == 409
        assert [problem["path"] for problem in refused.json()["problems"]] == ["budget.calls"]
    assert (reload(run).state, reload(run).limits_now) == (RunState.PAUSED, {})
    raised = asker.patch(limits, {**changes, "budget": {"calls": 20}}).json()
    assert raised["budget"] == {"dollars": None, "calls": 20, "seconds": None}
    assert (raised["max_concurrent"], reload(run).state) == (3, RunState.RUNNING)


def limits_form(**changes):
    numbers = dict.fromkeys(["requests_per_minute", "tokens_per_minute"], "")
    budget = dict.fromkeys(["budget_dollars", "budget_calls", "budget_seconds"], "")
    fixed = {"max_concurrent": "50", "priority": "normal", "reason": "why"}
    return {**fixed, **numbers, **budget, **changes}


def test_the_page_tells_the_stop_and_raises_the_budget_without_scripts(run, browser):
    stopped(run)
    page = browser.post(reverse("run_resume", args=[run.pk]), follow=True).text
    assert "The budget of 10 calls is used up. Raise it to resume the run." in page
    assert "10 of 10 calls" in page
    retune = reverse("run_retune", args=[run.pk])
    refused = browser.post(retune, limits_form(budget_calls="lots"))
    assert set(refused.context["form"].errors) == {"budget_calls"}
    browser.post(retune, limits_form(budget_calls="1,000", budget_seconds="90"))
    assert budget_of(reload(run)).model_dump() == {"dollars": None, "calls": 1000, "seconds": 90}
    browser.post(reverse("run_resume", args=[run.pk]))
    assert reload(run).state == RunState.RUNNING


CALLS, DOLLARS = {"budget": {"calls": 10}, "calls_sent": 10}, {"budget": {"dollars": 0.5}}
# What is used of what; the proposal, and why.
PROPOSED: list[tuple[dict[str, Any], str, str]] = [
    (CALLS, "20", ""),  # nothing is done yet
    (CALLS | {"done": 10, "planned": 100}, "20", "about 110 calls in all; 90 trials are left."),
    (
        {"budget": {"calls": 90}, "calls_sent": 90, "done": 99, "planned": 100},
        "100",  # little is left: what it takes
        "about 100 calls in all; 1 trial is left.",
    ),
    (
        DOLLARS | {"cost": 0.52, "done": 50, "planned": 60},
        "0.69",
        "about $0.69 in all; 10 trials are left.",
    ),
]


def test_a_stopped_run_proposes_how_far_to_raise_its_budget(alice, dataset):
    for used, proposal, needed in PROPOSED:
        budget, totals = used["budget"], {name: used[name] for name in used if name != "budget"}
        run = with_budget(going(alice, dataset), **budget)
        Run.objects.filter(pk=run.pk).update(**totals)
        (line,) = take_snapshot(watch(run))["raises"].values()
        told = f"Finishing takes {needed}" if needed else ""
        assert (line["proposal"], line["needed"]) == (proposal, told)


def test_one_button_raises_the_budget_and_resumes_the_run(run, alice, browser):
    stopped(run)
    page = browser.get(run.get_absolute_url()).text
    assert 'name="budget_calls" inputmode="numeric" autocomplete="off"' in page
    assert "Raise and resume" in page
    assert f'href="/runs/{run.pk}/#raise"' in browser.get(reverse("runs")).text
    raise_it = reverse("run_raise", args=[run.pk])
    refused = browser.post(raise_it, {"budget_calls": "10"}, follow=True).text
    assert "The budget of 10 calls is used up. Raise it to resume the run." in refused
    assert not run.events.filter(kind="limit").exists()
    browser.post(raise_it, {"budget_calls": "2,000"})
    assert budget_of(reload(run)).calls == 2000
    assert reload(run).state == RunState.RUNNING
    assert run.events.get(kind="limit").message == "alice changed budget of calls from 10 to 2,000."
    again = browser.post(raise_it, {"budget_calls": "3000"}, follow=True).text
    assert "The run was not paused." in again


def test_the_form_stores_a_budget_shows_it_again_and_says_what_is_wrong(alice, dataset):
    client_of(alice).post(reverse("run_new"), small_form(budget_calls="2", budget_seconds="60"))
    run = Run.objects.get()
    assert budget_of(run).model_dump() == {"dollars": None, "calls": 2, "seconds": 60.0}
    again = from_document(run.document)
    assert (again.mode, again.budget) == ("form", {"dollars": "", "calls": "2", "seconds": "60"})
    for door, field, typed, told in (
        ("run_estimate", "budget_calls", "none", "Input should be a valid integer"),
        ("run_estimate", "budget_calls", "0", "Input should be greater than 0"),
        ("run_new", "budget_dollars", "5", "A budget in dollars needs the price of every model"),
    ):
        answer = client_of(alice).post(reverse(door), small_form(**{field: typed}))
        (problem,) = answer.context["problems"]
        assert (problem.field, told in problem.message) == (f"id_{field}", True), typed
    assert answer.status_code == 400


def test_the_estimate_says_when_it_exceeds_the_budget(alice, dataset):
    Endpoint.objects.update(prices=PRICES)
    for budget, told in (
        ({"calls": 2}, ["It may take 3 calls, and pauses at the budget of 2 calls."]),
        ({"calls": 3, "seconds": 3600}, []),
        ({"dollars": 1e-6}, ["and pauses at the budget of $0.000001."]),
        ({"seconds": 0.01}, ["and pauses at the budget of 0.0 s."]),
    ):
        found = estimate(run_document(dataset, budget=budget), every_dataset()).over_budget
        assert [line[-len(end) :] for line, end in zip(found, told, strict=True)] == told
    panel = client_of(alice).post(reverse("run_estimate"), small_form(budget_calls="2"))
    assert "pauses at the budget of 2 calls" in panel.text
