"""Scorers that ask a model, on the site: their form, their estimate, and what they depend on."""

import pytest
from django.urls import reverse
from django.utils.timezone import now

from runs.forms.starting_points import from_document
from runs.models import Configuration, Endpoint, Run, RunState
from runs.selectors.dependents import dependents_of_endpoint
from runs.selectors.endpoints.called import live_runs_using
from runs.selectors.estimates.estimate import estimate
from runs.selectors.named_parts import every_dataset
from runs.services.chunks.kept_answers import keep_unjudged, kept_in, written
from runs.services.control.outages import models_needed
from runs.services.control.retrying import retry_failed
from runs.services.runs import create_run
from tests.api.asking import Asker
from tests.harness.factories import (
    add_cached_reply,
    add_score,
    client_of,
    make_endpoint,
    make_run,
    run_document,
)
from tests.runs.form_parts import small_form
from workers.engine.calling.embeddings import write_vector
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.records import TRUNCATED, Attempt, KeptAnswer, Reply, StepCall, Trial

pytestmark = pytest.mark.django_db

RUBRIC = {"judge": "court/sim-large", "rubric": "It is <b>right</b>.\nIt is short."}
SIMILARITY = {"model": "court/sim-embed"}
PRICES = {
    "sim-small": {"input": 0.1, "output": 0.4},
    "sim-large": {"input": 2.5, "output": 10.0},
    "sim-embed": {"input": 0.02, "output": 0.0},
}


@pytest.fixture
def court():
    """Where only judges are."""
    return make_endpoint("court")


@pytest.fixture
def judged(dataset, court):
    return run_document(dataset, scorers=[{"rubric": RUBRIC}, {"similarity": SIMILARITY}])


def posted(**changes):
    """What a browser sends."""
    judge = {
        "scorers": ["rubric"],
        "scorer-rubric-judge": RUBRIC["judge"],
        "scorer-rubric-rubric": RUBRIC["rubric"],
        "scorer-rubric-threshold": "0.5",
    }
    return small_form(**{**judge, **changes})


def test_the_form_takes_a_judge_and_shows_it_again(alice, dataset, court):
    client = client_of(alice)
    answer = client.post(reverse("run_new"), posted())
    run = Run.objects.get()
    assert answer.status_code == 302
    assert run.document["scorers"] == [{"rubric": RUBRIC}]
    page = client.get(reverse("run_new"), {"run": run.pk}).content.decode()
    assert '<option value="court/sim-large">' in page
    assert 'name="scorer-rubric-judge" value="court/sim-large"' in page
    assert "It is &lt;b&gt;right&lt;/b&gt;.\nIt is short.</textarea>" in page
    # With parameters it is shown as YAML.
    exact = {"endpoint": "court", "model": "sim-large", "parameters": {"temperature": 0}}
    judged = run_document(dataset, scorers=[{"rubric": {**RUBRIC, "judge": exact}}])
    filled = from_document(create_run(alice, judged).document)
    assert (filled.mode, "temperature: 0" in filled.yaml) == ("yaml", True)


def test_the_form_says_what_is_wrong_with_a_judge(alice, dataset, court):
    for changes, message in (
        ({"scorer-rubric-judge": "sim-large"}, "has no endpoint. Write endpoint/model."),
        ({"scorer-rubric-judge": "nowhere/x"}, "There is no endpoint &#x27;nowhere&#x27;."),
        ({"scorer-rubric-rubric": ""}, "rubric.rubric: Field required"),
        ({"scorer-rubric-threshold": "2"}, "rubric.threshold: Input should be less"),
    ):
        assert message in client_of(alice).post(reverse("run_estimate"), posted(**changes)).text
    answer = client_of(alice).post(reverse("run_new"), posted(**{"scorer-rubric-judge": ""}))
    assert (answer.status_code, "Name the model that judges" in answer.text) == (400, True)
    assert not Run.objects.exists()


def test_calls_and_cost_of_judges_are_estimated_apart(alice, judged, court):
    plain = estimate({**judged, "scorers": ["exact"]}, every_dataset())
    assert (plain.judge_calls, plain.judge_cost_text) == (0, "")
    found = estimate(judged, every_dataset())
    assert found.calls_to_send == plain.calls_to_send == 3
    assert found.judge_calls == 3 * (1 + 2)
    assert found.judge_cost_text == "unknown: no price for court/sim-large, court/sim-embed"
    Endpoint.objects.update(prices=PRICES)
    found = estimate({**judged, "budget": {"calls": 10, "dollars": 0.001}}, every_dataset())
    assert found.judge_cost_text.startswith("about $0.0")
    assert found.cost_text == estimate({**judged, "scorers": ["exact"]}, every_dataset()).cost_text
    assert any(line.startswith("It may take 12 calls") for line in found.over_budget)
    assert any(line.startswith("It may take $") for line in found.over_budget)
    shown = Asker(alice).post("/runs/estimate", {"configuration": judged}).json()
    assert (shown["judge_calls"], shown["judge_cost"]) == (9, found.judge_cost_text)
    panel = client_of(alice).post(reverse("run_estimate"), posted()).content.decode()
    assert "at most 3 calls more" in " ".join(panel.split())


def test_a_judge_without_a_price_or_out_of_use_is_refused(alice, judged, court):
    Endpoint.objects.filter(name="simulated").update(prices=PRICES)
    with pytest.raises(ConfigurationError, match=r"unknown: court/sim-large, court/sim-embed"):
        create_run(alice, {**judged, "budget": {"dollars": 1}})
    court.archived = now()
    court.save()
    with pytest.raises(ConfigurationError, match="The endpoint court is archived"):
        create_run(alice, judged)


def test_an_endpoint_of_judges_is_in_use(alice, judged, court):
    assert not dependents_of_endpoint(court)
    Configuration.objects.create(owner=alice, name="kept", document=judged, kind="evaluate")
    assert dependents_of_endpoint(court).text == "1 configuration"
    run = create_run(alice, judged)
    assert sorted(run.snapshot_of["endpoints"]) == ["court", "simulated"]
    assert live_runs_using(court) == [run.pk]
    ids = {endpoint.name: endpoint.pk for endpoint in Endpoint.objects.all()}
    needed = {(ids["court"], "sim-large"), (ids["court"], "sim-embed")}
    assert models_needed(run, ids) == needed | {(ids["simulated"], "sim-small")}
    Run.objects.update(state=RunState.COMPLETED)
    assert live_runs_using(court) == []
    assert dependents_of_endpoint(court).text == "1 run and 1 configuration"
    twice = {**judged, "scorers": [{"rubric": {**RUBRIC, "judge": "simulated/sim-small"}}]}
    configuration = read_configuration(twice)
    assert [model.label for model in configuration.every_model] == ["simulated/sim-small"]
    assert [path for path, _ in configuration.judges] == ["scorers.0.judge"]


def test_a_retry_keeps_only_answers_that_could_not_be_judged(alice, dataset):
    run = make_run(alice, dataset, done=2, failed=2)
    cases, candidate = list(dataset.cases.all()), run.candidates.get()
    candidate.done, candidate.failed = 2, 2
    candidate.save()
    use = {"done": 1, "failed": 1, "sent": 3, "cached": 0, "cost": 0.5, "tokens_in": 0,
           "tokens_out": 0, "latency_ms": 0.0}  # fmt: skip
    run.by_role = {"judge": dict(use)}
    run.save()
    add_score(run, cases[0], candidate, 0, error_class="timeout", latency_ms=None)
    judging = {"use": use, "calls": [], "attempts": [], "reply": [120.0, 7, 2]}
    unjudged = {"error_class": "scorer_error", "answer": "41", "cost": 0.25, "judging": judging}
    add_score(run, cases[1], candidate, 1, **unjudged)
    chunk = run.chunks.create(start=0, trials=[[0, 0, 0, 0], [1, 0, 1, 0]], state="done")
    assert retry_failed(run, alice) == 2
    chunk.refresh_from_db()
    run.refresh_from_db()
    kept = chunk.kept or {}
    assert list(kept) == ["1"]
    assert (kept["1"]["answer"], kept["1"]["reply"]) == ("41", [120.0, 7, 2])
    # What was paid stays counted.
    assert run.by_role["judge"] == {**use, "done": 0, "failed": 0}


def test_an_answer_whose_judging_is_interrupted_is_kept_whole(alice, dataset):
    run = make_run(alice, dataset)
    call = StepCall("solver", "it/small", [{"role": "user", "content": "?"}], "4", "", 9.0, 3, 1,
                    0.5, cached=False)  # fmt: skip
    answer = KeptAnswer(
        Reply("4 <b>", 12.5, 7, None, cached=True, flaw=TRUNCATED),
        attempts=(Attempt("call", "ok", 1.0, 2.0, "", "solver"),),
        calls=(call,),
        cost=0.5,
        full_cost=0.75,
        record=b'{"steps":[1]}',
        calls_sent=2,
        cost_saved=0.25,
        unpriced=1,
        is_counted=False,
    )
    counted = KeptAnswer(Reply("5", 1.0))
    earlier = {"0": written(counted)}
    chunk = run.chunks.create(start=0, trials=[[0, 0, 0, 0]], state="leased", token=3, kept=earlier)
    keep_unjudged(chunk.pk, 2, {Trial(1, "a", 0, 0): answer})  # of a lease that was lost
    chunk.refresh_from_db()
    assert kept_in(chunk.kept) == {0: counted}
    keep_unjudged(chunk.pk, 3, {Trial(1, "a", 0, 0): answer})
    chunk.refresh_from_db()
    assert kept_in(chunk.kept) == {0: counted, 1: answer}


def test_the_cache_page_names_embeddings_instead_of_their_numbers(alice, dataset):
    run = make_run(alice, dataset)
    kept = add_cached_reply(run, "a" * 64, model="sim-embed", text=write_vector([0.5, -0.25]))
    odd = add_cached_reply(run, "b" * 64, text="float32 is a type")
    client = client_of(alice)
    assert "(the embedding of a text)" in client.get(reverse("cache")).content.decode()
    page = client.get(reverse("cache_entry", args=[kept.key])).content.decode()
    assert "A vector of 2 numbers: 0.5000, -0.2500…" in page
    assert "float32 is a type" in client.get(reverse("cache_entry", args=[odd.key])).text
