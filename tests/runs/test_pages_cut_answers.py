"""Answers that ended at their length limit: marked, counted, found, and explained."""

import pytest
from django.urls import reverse

from runs.models import Run
from tests.harness.factories import add_candidate, add_score, client_of, make_dataset
from tests.harness.factories import make_run as stored_run

pytestmark = pytest.mark.django_db

TOLD = "Cut at max_tokens (24): the answer ended at its length limit. Raise max_tokens."


@pytest.fixture
def run(alice):
    """Trial 0 asked for nothing special; trial 1 was cut at max_tokens."""
    dataset = make_dataset(alice)
    run = stored_run(alice, dataset, truncated=1, done=2, scored=2)
    short = add_candidate(run, "terse")
    short.document["model"]["parameters"] = {"max_tokens": 24, "temperature": 0.2}
    short.save()
    case = dataset.cases.get(position=0)
    add_score(run, case, run.candidates.get(position=0), 0)
    add_score(run, case, short, 1, truncated=True)
    return run


def page_of(alice, name, *arguments, **query):
    return client_of(alice).get(reverse(name, args=arguments), query).content.decode()


def test_a_cut_answer_is_marked_and_found(alice, run):
    rows = page_of(alice, "run_scores", run.pk, status="truncated").split("<tbody")[1]
    assert rows.count("<tr>") == 1
    assert "cut<span" in rows
    whole = page_of(alice, "run_scores", run.pk).split("<tbody")[1]
    assert (whole.count("<tr>"), whole.count("cut<span")) == (2, 1)


def test_the_run_page_counts_them_and_leads_to_them(alice, run):
    page = page_of(alice, "run", run.pk)
    assert "1 answer was cut at the length limit (max_tokens)." in page
    assert f'href="{reverse("run_scores", args=[run.pk])}?status=truncated"' in page


def test_a_run_without_any_says_nothing_about_them(alice, run):
    Run.objects.update(truncated=0)
    assert "data-cut hidden" in page_of(alice, "run", run.pk)


@pytest.mark.parametrize("name", ["trial", "trial_row"])
def test_the_trial_says_where_it_was_cut_and_what_to_do(alice, run, name):
    assert TOLD in page_of(alice, name, run.pk, 1)
    assert "Cut at" not in page_of(alice, name, run.pk, 0)


def test_a_limit_that_nobody_set_is_the_models_own(alice, run):
    run.scores.filter(position=0).update(truncated=True)
    page = page_of(alice, "trial", run.pk, 0)
    assert "Cut at the model&#x27;s own length limit" in page
    assert "Set max_tokens" in page


@pytest.mark.parametrize(
    ("flaw", "kept", "told"),
    [
        ("truncated", "It is", "Raise max_tokens in the model&#x27;s parameters"),
        ("filtered", "I cannot help", "answers.score_filtered: true"),
        ("no_text", "", "answers.score_no_text: true"),
    ],
)
def test_an_answer_that_is_not_scored_is_shown_counted_and_found(alice, run, flaw, kept, told):
    run.scores.filter(position=1).update(
        value=None, passed=None, error_class=flaw, error_message="Not whole.", answer=kept,
        truncated=flaw == "truncated",
    )  # fmt: skip
    trial = page_of(alice, "trial", run.pk, 1)
    assert told in trial
    assert (f'tabindex="0">{kept}</pre>' if kept else "The answer is empty.") in trial
    assert "the call failed" not in trial
    rows = page_of(alice, "run_scores", run.pk, status=flaw).split("<tbody")[1]
    assert rows.count("<tr>") == 1
    assert kept in rows
    assert "cut<span" not in rows  # the result says it already
    errors = page_of(alice, "run_errors", run.pk)
    assert told in errors
    assert f"?error={flaw}" in errors


@pytest.mark.parametrize(
    ("position", "text"),
    [(0, "the model&#x27;s own defaults"), (1, "max_tokens 24, temperature 0.2")],
)
def test_a_trial_shows_the_parameters_it_was_asked_with(alice, run, position, text):
    page = page_of(alice, "trial", run.pk, position)
    assert f"<dt>Parameters</dt><dd>{text}</dd>" in page


def select_steps(run):
    """Its kind is that of its candidate: two steps, each with one model."""
    steps = [{"name": name, "models": ["simulated/m"]} for name in ("plan", "solve")]
    shared = {name: run.document[name] for name in ("name", "dataset", "scorers")}
    run.kind, run.document = "select", {**shared, "kind": "select", "steps": steps}
    run.save()


def test_a_pipeline_shows_parameters_and_cuts_of_each_step(alice, run):
    chat = {"system": "", "user": "{{question}}"}
    plain = {"endpoint": "simulated", "model": "m", "parameters": {}}
    draft = {"name": "draft", **chat, "model": {**plain, "parameters": {"max_tokens": 3}}}
    candidate = run.candidates.get(position=1)
    candidate.document = {
        "steps": [
            {"name": "plan", **chat, "model": plain},
            {"name": "solve", "agent": "x", "calls": [draft]},
        ]
    }
    candidate.save()
    select_steps(run)
    called = ["simulated/m", [], "an answer", "", 5.0, 1, 1, None, False]
    calls = [["plan", *called], ["solve.draft", *called, True]]  # the first as 0.1 stored it
    run.scores.filter(position=1).update(calls=calls)
    first, second = page_of(alice, "trial", run.pk, 1).split("step-call")[1:]
    assert "Parameters: the model&#x27;s own defaults" in first
    assert "Parameters: max_tokens 3" in second
    assert "Cut at max_tokens" not in first
    assert second.count("Cut at max_tokens (3)") == 2  # of the step, and of the pipeline
