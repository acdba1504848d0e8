"""`GET /compare`: runs and candidates of runs, by the same code as the page and the command."""

import pytest

from runs.models import RunState
from tests.commands.conftest import command
from tests.harness.factories import make_dataset
from tests.runs.comparing_parts import make_scored

pytestmark = pytest.mark.django_db

ALL_RIGHT, HALF, WORST = [1.0] * 12, [1.0, 0.0] * 6, [0.0] * 12


@pytest.fixture
def questions(alice):
    return make_dataset(alice, "questions", rows=12)


def compared(asker, base, *others):
    answer = asker.get("/compare", base=base, **{"with": ",".join(map(str, others))})
    assert answer.status_code == 200, answer.content
    return answer.json()["data"]


def test_candidates_of_one_run_and_of_two_are_compared(asker, alice, questions):
    first = make_scored(alice, questions, ALL_RIGHT, HALF)
    second = make_scored(alice, questions, WORST)
    half, worst = compared(asker, f"{first.pk}:0", f"{first.pk}:1", f"{second.pk}:0")
    assert (half["base"]["candidate"], half["other"]["candidate"]) == (0, 1)
    assert (half["overall"]["mean"], half["regressions"]) == (-0.5, 6)
    assert (worst["overall"]["mean"], worst["regressions"]) == (-1.0, 12)
    assert worst["verdict"].startswith(
        f"Candidate plain · simulated/sim-small (run {second.pk}) scores lower"
    )


def test_a_p_is_corrected_for_the_number_of_sides(asker, alice, questions):
    base = make_scored(alice, questions, ALL_RIGHT)
    others = [make_scored(alice, questions, HALF).pk for _ in range(4)]
    [alone] = compared(asker, base.pk, others[0])
    score = alone["metrics"][0]
    assert score["p_corrected"] == score["difference"]["p"] == pytest.approx(2 / 2**6)
    assert (score["wins"], score["losses"], score["ties"]) == (0, 6, 6)
    assert score["verdict"] == "worse"
    for one in compared(asker, base.pk, *others):
        score = one["metrics"][0]
        assert score["p_corrected"] == pytest.approx(4 * score["difference"]["p"])
        assert score["verdict"] == "no clear difference"
        assert one["verdict"].startswith("No clear difference between")
        assert "after Holm's correction" in one["verdict"]


def test_cost_and_failures_are_compared_like_scores(asker, alice, questions):
    base = make_scored(alice, questions, ALL_RIGHT)
    failing = make_scored(alice, questions, [None] * 9 + [1.0] * 3)
    [found] = compared(asker, base.pk, failing.pk)
    metrics = {metric["name"]: metric for metric in found["metrics"]}
    assert metrics["error_share"]["difference"]["mean"] == 0.75
    assert metrics["error_share"]["verdict"] == "worse"
    assert metrics["cost_per_thousand"]["base"] == pytest.approx(1.0)
    assert metrics["cost_per_thousand"]["difference"]["mean"] == 0.0
    assert metrics["latency_p95"]["difference"] is None, "12 cases say nothing of the slowest"
    assert metrics["score"]["difference"]["cases"] == 3, "a failed case is no zero"


def test_cases_are_matched_by_what_they_hold(asker, alice, questions):
    fewer = make_dataset(alice, "fewer", rows=5)
    base, other = make_scored(alice, questions, ALL_RIGHT), make_scored(alice, fewer, [1.0] * 5)
    [found] = compared(asker, base.pk, other.pk)
    assert found["cases"] == {"shared": 5, "only_before": 7, "only_after": 0}
    assert "5 of 12 cases shared; 7 only in the base are not counted as passes." in found["marks"]
    assert (found["pairs"], found["overall"]["mean"]) == (5, 0.0)


def test_a_run_is_compared_with_its_last_one(asker, alice, questions):
    first = make_scored(alice, questions, ALL_RIGHT)
    make_scored(alice, questions, WORST, state=RunState.CANCELLED)
    make_scored(alice, questions, WORST, name="another")
    now = make_scored(alice, questions, HALF)
    [found] = compared(asker, "last", now.pk)
    assert found["base"]["run_id"] == first.pk
    refused = asker.get("/compare", base="last", **{"with": first.pk})
    assert refused.status_code == 422
    assert "There is no complete run of this name" in refused.json()["detail"]


def test_a_run_that_goes_on_is_provisional(asker, alice, questions):
    base = make_scored(alice, questions, ALL_RIGHT)
    going = make_scored(alice, questions, [1.0, 1.0], state=RunState.RUNNING, ended=None)
    [found] = compared(asker, base.pk, going.pk)
    assert found["provisional"]
    assert " so far: " in found["verdict"]
    assert f"Run {going.pk} still goes on: these figures are provisional." in found["marks"]


@pytest.mark.parametrize(
    ("base", "others", "said"),
    [
        pytest.param("1", "1:2:3", "pattern", id="no notation"),
        pytest.param("1", "1,", "pattern", id="a comma too many"),
        pytest.param("{run}:7", "{run}", "Its candidates are 0 to 0.", id="no candidate"),
        pytest.param("{run}", "{many}", "1 to 9 others", id="too many"),
    ],
)
def test_what_cannot_be_compared_is_refused(asker, run, base, others, said):
    many = ",".join(f"{run.pk}:{number}" for number in range(10))
    names = {"run": run.pk, "many": many}
    answer = asker.get("/compare", base=base.format(**names), **{"with": others.format(**names)})
    assert answer.status_code == 422
    assert said in answer.content.decode()


@pytest.mark.django_db(transaction=True)
def test_the_command_says_what_the_api_says(asker, alice, questions):
    run = make_scored(alice, questions, ALL_RIGHT, HALF)
    base, other = f"{run.pk}:0", f"{run.pk}:1"
    [told] = command("compare", base, other, "--json", "--user", "alice").lines
    assert told == compared(asker, base, other)[0]
    shown = command("compare", base, other, "--user", "alice").out
    assert told["verdict"] in " ".join(shown.split())
    assert "Score: 1.000 -> 0.500, −0.500" in shown
    refused = command("compare", base, "x", "--user", "alice")
    assert (refused.exit_code, refused.out) == (2, "")
    assert "'x' names nothing to compare" in refused.err
