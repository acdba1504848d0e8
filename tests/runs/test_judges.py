"""Scorers that ask a model, on the site: their form, their estimate, and what they depend on."""

import pytest
from django.urls import reverse
from django.utils.timezone import now

from runs.forms.starting_points import from_document
from runs.models import Configuration, Endpoint, Run, RunState
from runs.selectors.dependents import dependents_of_endpoint
from runs.selectors.endpoints.called import live_runs_using
from runs.selectors.estimates.estimate import estimate
from runs.selectors.estimates.judges import estimate_judges
from runs.selectors.named_parts import every_dataset
from runs.selectors.scores import agreement
from runs.selectors.scores.agreement import agreement_of
from runs.selectors.scores.lines import read_lines
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
from tests.runs.new_run_parts import small_form
from workers.engine.calling.embeddings import write_vector
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.records import TRUNCATED, Attempt, KeptAnswer, Reply, StepCall, Trial
from workers.engine.spec.configuration import TrialRange

pytestmark = pytest.mark.django_db

RUBRIC = {"judge": "court/sim-large", "rubric": "It is <b>right</b>.\nIt is short."}
SIMILARITY = {"model": "court/sim-embed"}
PRICES = {
    "sim-small": {"input": 1.0, "output": 1.0},
    "sim-large": {"input": 3.0, "output": 3.0},
    "sim-embed": {"input": 0.02, "output": 0.0},
}


@pytest.fixture(autouse=True)
def court(db):
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


def test_the_form_takes_a_judge_and_shows_it_again(alice, browser, dataset, court):
    answer = browser.post(reverse("run_new"), posted())
    run = Run.objects.get()
    assert answer.status_code == 302
    assert run.document["scorers"] == [{"rubric": RUBRIC}]
    page = browser.get(reverse("run_new"), {"run": run.pk}).text
    assert '<option value="court/sim-large">' in page
    assert 'name="scorer-rubric-judge" value="court/sim-large"' in page
    assert "It is &lt;b&gt;right&lt;/b&gt;.\nIt is short.</textarea>" in page
    # With parameters it is shown as YAML.
    exact = {"endpoint": "court", "model": "sim-large", "parameters": {"temperature": 0}}
    judged = run_document(dataset, scorers=[{"rubric": {**RUBRIC, "judge": exact}}])
    filled = from_document(create_run(alice, judged).document)
    assert (filled.mode, "temperature: 0" in filled.yaml) == ("yaml", True)


def test_the_form_says_what_is_wrong_with_a_judge_and_takes_a_panel(alice, dataset, court, browser):
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
    lines = {"scorer-rubric-judges": f"{SMALL}\r\n\r\n", "scorer-rubric-combine": "majority"}
    assert browser.post(reverse("run_new"), posted(**lines)).status_code == 302
    run = Run.objects.get()
    chosen = run.document["scorers"][0]["rubric"]
    assert (chosen["judges"], chosen["combine"]) == ([SMALL], "majority")
    page = browser.get(reverse("run_new"), {"run": run.pk})
    assert page.context["filled"].mode == "form"
    assert f"{SMALL}</textarea>" in page.text
    twice = browser.post(reverse("run_estimate"), posted(**{"scorer-rubric-judges": LARGE}))
    assert "A judge is named twice" in twice.text


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
    panel = client_of(alice).post(reverse("run_estimate"), posted()).text
    assert "at most 3 calls more" in " ".join(panel.split())


def test_an_endpoint_of_judges_is_in_use_and_refused_without_its_prices(alice, judged, court):
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
    Endpoint.objects.filter(name="simulated").update(prices=PRICES)
    with pytest.raises(ConfigurationError, match=r"unknown: court/sim-large, court/sim-embed"):
        create_run(alice, {**judged, "budget": {"dollars": 1}})
    court.archived = now()
    court.save()
    with pytest.raises(ConfigurationError, match="The endpoint court is archived"):
        create_run(alice, judged)


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


def test_the_cache_page_names_embeddings_instead_of_their_numbers(alice, browser, dataset):
    run = make_run(alice, dataset)
    kept = add_cached_reply(run, "a" * 64, model="sim-embed", text=write_vector([0.5, -0.25]))
    odd = add_cached_reply(run, "b" * 64, text="float32 is a type")
    assert "(the embedding of a text)" in browser.get(reverse("cache")).text
    page = browser.get(reverse("cache_entry", args=[kept.key])).text
    assert "A vector of 2 numbers: 0.5000, -0.2500…" in page
    assert "float32 is a type" in browser.get(reverse("cache_entry", args=[odd.key])).text


# --- Panels of judges: in the form, the estimate, the page of a run and the API

LARGE, SMALL = "court/sim-large", "court/sim-small"
PANEL = {"judge": LARGE, "judges": [SMALL], "rubric": "It is right."}
VOTES = [(1.0, 0.9), (0.1, 0.2), (0.8, 0.25), (0.9, 1.0)]


def judged_run(alice, dataset, votes):
    """Its second scorer is a panel, which gave these."""
    document = run_document(dataset, scorers=["exact", {"rubric": {**PANEL, "as": "<b>jury"}}])
    run = make_run(alice, dataset, document=document, done=len(votes), scored=len(votes))
    candidate, case = run.candidates.get(), dataset.cases.all()[0]
    for position, each in enumerate(votes):
        exact = ["exact", 1.0, True, "is it"]
        rated = ["<b>jury", sum(each) / 2, True, "fine", "2 of 2 agree", "", each]
        add_score(run, case, candidate, position, repeat=position, details=[exact, rated])
    return run


def test_calls_of_panels_and_pairs_are_estimated(alice, dataset):
    Endpoint.objects.update(prices=PRICES)
    for name, options, calls, dollars_a_call in (
        ("rubric", {**PANEL, "judges": []}, 1, 3.0),
        ("rubric", PANEL, 2, (3.0 + 1.0) / 2),
        ("pairwise", {"judge": SMALL}, 2, 1.0),  # asked in both orders
        ("pairwise", {"judge": LARGE, "judges": [SMALL]}, 4, 2.0),
    ):
        cheap = {**options, "judge": SMALL, "judges": []}
        chosen = ([{name: each}] for each in (cheap, options))
        one, found = (judges_of(run_document(dataset, scorers=scorers)) for scorers in chosen)
        assert found.calls == 3 * calls
        a_dollar = one.dollars / one.calls  # what a call costs of the model that costs a dollar
        assert found.dollars == pytest.approx(found.calls * a_dollar * dollars_a_call)


def judges_of(document):
    endpoints = {endpoint.name: endpoint for endpoint in Endpoint.objects.all()}
    return estimate_judges(read_configuration(document), endpoints, TrialRange(3, 3), [])


def test_a_panel_shows_how_well_it_agrees_and_that_it_lost_a_judge(alice, dataset):
    run = judged_run(alice, dataset, VOTES)
    (found,) = agreement_of(run)
    assert (found.scorer, found.trials, found.of_trials) == ("<b>jury", 4, 4)
    assert found.unanimous == 0.75
    import krippendorff  # large, as in other tests

    theirs = krippendorff.alpha(list(zip(*VOTES, strict=True)), level_of_measurement="interval")
    assert found.alpha == pytest.approx(theirs)
    assert [judge.model for judge in found.judges] == [LARGE, SMALL]
    assert [judge.mean for judge in found.judges] == pytest.approx([0.7, 0.5875])
    page = client_of(alice).get(reverse("run", args=[run.pk])).text
    assert "Agreement of the judges, &lt;b&gt;jury" in page
    assert "<dd>0.72</dd>" in page
    assert "<dd>75.0 %</dd>" in page
    assert Asker(alice).get(f"/runs/{run.pk}/agreement").json() == {"panels": [found.model_dump()]}
    for votes in ([], VOTES):
        run = judged_run(alice, dataset, votes)
        case, candidate = dataset.cases.all()[1], run.candidates.get()
        failed = {"error_class": "scorer_error", "error_message": "1 of 2 judges of rubric gave…"}
        add_score(run, case, candidate, 90, **failed)
        Run.objects.filter(pk=run.pk).update(done=len(votes) + 1, failed=1)
        (found,) = agreement_of(Run.objects.get(pk=run.pk))
        assert (found.trials, found.not_judged) == (len(votes), 1)
        text = " ".join(client_of(alice).get(reverse("run", args=[run.pk])).text.split())
        assert "1 answer has no verdict, since a judge failed." in text
        assert f"/runs/{run.pk}/scores/?error=scorer_error" in text


def test_judges_that_never_differ_have_no_alpha_and_many_are_sampled(
    alice, dataset, set_constant, django_assert_num_queries
):
    run = judged_run(alice, dataset, [(1.0, 1.0)] * 3)
    (found,) = agreement_of(run)
    assert (found.alpha, found.unanimous) == (None, 1.0)
    page = client_of(alice).get(reverse("run", args=[run.pk])).text
    assert "chance cannot be told" in " ".join(page.split())
    set_constant(agreement, "MOST_TRIALS", 4)
    run = judged_run(alice, dataset, [*VOTES, *VOTES, (0.5, 0.5)])
    (found,) = agreement_of(run)
    assert (found.trials, found.of_trials) == (3, 9)  # every third
    run = create_run(alice, run_document(dataset, scorers=[{"rubric": {**PANEL, "judges": []}}]))
    with django_assert_num_queries(0):
        assert agreement_of(run) == []
    assert Asker(alice).get(f"/runs/{run.pk}/agreement").json() == {"panels": []}
    assert "Agreement of the judges" not in client_of(alice).get(reverse("run", args=[run.pk])).text


@pytest.mark.postgresql("JSON: what judging cost is read out of a column")
def test_files_say_what_judging_cost_and_the_page_how_long_it_takes(alice, dataset):
    run = make_run(alice, dataset, done=2)
    candidate, case = run.candidates.get(), dataset.cases.all()[0]
    use = {"done": 1, "cost": 0.25}
    add_score(run, case, candidate, 0, cost=0.5, judging={"use": use, "calls": ["much"]})
    add_score(run, case, candidate, 1, repeat=1, cost=0.5)
    assert [line["judge_cost"] for line in read_lines(run)] == [None, None]  # nobody was asked
    run.by_role = {"judge": use}
    run.save()
    assert [line["judge_cost"] for line in read_lines(run)] == [0.25, None]
    url = reverse("run_scores_csv", args=[run.pk])
    head, first, *_ = client_of(alice).get(url).getvalue().decode().splitlines()
    assert dict(zip(head.split(","), first.split(","), strict=False))["judge_cost"] == "0.25"
    use = {"done": 5, "failed": 1, "sent": 3, "cached": 2, "cost": 0.25, "tokens_in": 0,
           "tokens_out": 0, "latency_ms": 500.0}  # fmt: skip
    run = make_run(alice, dataset, done=3, calls_sent=6, cost=0.5, by_role={"judge": use})
    page = client_of(alice).get(reverse("run", args=[run.pk])).text
    assert "judge: 5 calls, 1 failed, 3 sent, $0.25, 250 ms each, 2 from the cache" in page
    assert Asker(alice).get(f"/runs/{run.pk}").json()["roles"]["judge"]["latency_mean_ms"] == 250.0
