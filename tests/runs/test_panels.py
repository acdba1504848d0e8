"""Panels of judges on the site: in the form, the estimate, the page of a run and the API."""

import pytest
from django.urls import reverse

from runs.models import Endpoint, Run
from runs.selectors.estimates.judges import estimate_judges
from runs.selectors.scores import agreement
from runs.selectors.scores.agreement import agreement_of
from runs.selectors.scores.lines import read_lines
from runs.services.runs import create_run
from tests.api.asking import Asker
from tests.harness.factories import add_score, client_of, make_endpoint, make_run, run_document
from tests.runs.test_judges import posted
from workers.engine.kinds import read_configuration
from workers.engine.spec.configuration import TrialRange

pytestmark = pytest.mark.django_db

LARGE, SMALL = "court/sim-large", "court/sim-small"
PANEL = {"judge": LARGE, "judges": [SMALL], "rubric": "It is right."}
PRICES = {"sim-small": {"input": 1.0, "output": 1.0}, "sim-large": {"input": 3.0, "output": 3.0}}
VOTES = [(1.0, 0.9), (0.1, 0.2), (0.8, 0.25), (0.9, 1.0)]


@pytest.fixture(autouse=True)
def court(db):
    make_endpoint("court")


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


def test_the_form_takes_a_panel_and_shows_it_again(alice, dataset):
    client = client_of(alice)
    lines = {"scorer-rubric-judges": f"{SMALL}\r\n\r\n", "scorer-rubric-combine": "majority"}
    assert client.post(reverse("run_new"), posted(**lines)).status_code == 302
    run = Run.objects.get()
    chosen = run.document["scorers"][0]["rubric"]
    assert (chosen["judges"], chosen["combine"]) == ([SMALL], "majority")
    page = client.get(reverse("run_new"), {"run": run.pk})
    assert page.context["filled"].mode == "form"
    assert f"{SMALL}</textarea>" in page.text
    twice = client.post(reverse("run_estimate"), posted(**{"scorer-rubric-judges": LARGE}))
    assert "A judge is named twice" in twice.text


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


def test_a_panel_shows_how_well_it_agrees(alice, dataset):
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
    shown = Asker(alice).get(f"/runs/{run.pk}/agreement").json()
    assert shown == {"panels": [found.model_dump()]}


def test_judges_that_always_say_the_same_have_no_alpha_and_a_large_run_is_sampled(
    alice, dataset, set_constant
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


def test_a_run_without_a_panel_is_asked_nothing(alice, dataset, django_assert_num_queries):
    run = create_run(alice, run_document(dataset, scorers=[{"rubric": {**PANEL, "judges": []}}]))
    with django_assert_num_queries(0):
        assert agreement_of(run) == []
    assert Asker(alice).get(f"/runs/{run.pk}/agreement").json() == {"panels": []}
    assert "Agreement of the judges" not in client_of(alice).get(reverse("run", args=[run.pk])).text


@pytest.mark.postgresql("JSON: what judging cost is read out of a column")
def test_files_say_what_judging_cost(alice, dataset):
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


def test_the_page_says_how_long_judges_take(alice, dataset):
    use = {"done": 5, "failed": 1, "sent": 3, "cached": 2, "cost": 0.25, "tokens_in": 0,
           "tokens_out": 0, "latency_ms": 500.0}  # fmt: skip
    run = make_run(alice, dataset, done=3, calls_sent=6, cost=0.5, by_role={"judge": use})
    page = client_of(alice).get(reverse("run", args=[run.pk])).text
    assert "judge: 5 calls, 1 failed, 3 sent, $0.25, 250 ms each, 2 from the cache" in page
    shown = Asker(alice).get(f"/runs/{run.pk}").json()["roles"]["judge"]
    assert shown["latency_mean_ms"] == 250.0


def test_a_panel_that_lost_a_judge_says_so_on_the_page(alice, dataset):
    """Also where no trial has a verdict: then there is nothing to agree on."""
    for votes in ([], VOTES):
        run = judged_run(alice, dataset, votes)
        case, candidate = dataset.cases.all()[1], run.candidates.get()
        failed = {"error_class": "scorer_error", "error_message": "1 of 2 judges of rubric gave…"}
        add_score(run, case, candidate, 90, **failed)
        Run.objects.filter(pk=run.pk).update(done=len(votes) + 1, failed=1)
        (found,) = agreement_of(Run.objects.get(pk=run.pk))
        assert (found.trials, found.not_judged) == (len(votes), 1)
        page = client_of(alice).get(reverse("run", args=[run.pk])).text
        text = " ".join(page.split())
        assert "1 answer has no verdict, since a judge failed." in text
        assert f"/runs/{run.pk}/scores/?error=scorer_error" in text
