"""Comparing runs and candidates of runs: by the selector, `GET /compare` and the command."""

import pytest

from runs.models import RunState
from runs.selectors.comparing.comparison import compare_runs
from runs.services.datasets.storing import store_rows
from tests.commands.conftest import command, refused
from tests.harness.factories import make_dataset, run_document
from tests.runs.comparing_parts import make_scored

pytestmark = pytest.mark.django_db

ALL_RIGHT, HALF, WORST = [1.0] * 12, [1.0, 0.0] * 6, [0.0] * 12
NAME = "plain · simulated/sim-small"


@pytest.fixture
def questions(alice):
    return make_dataset(alice, "questions", rows=12)


def compared(asker, base, *others):
    answer = asker.get("/compare", base=base, **{"with": ",".join(map(str, others))})
    assert answer.status_code == 200, answer.content
    return answer.json()["data"]


def test_candidates_are_compared_by_scores_corrected_ps_costs_and_failures(asker, alice, questions):
    first = make_scored(alice, questions, ALL_RIGHT, HALF)
    second = make_scored(alice, questions, WORST)
    half, worst = compared(asker, f"{first.pk}:0", f"{first.pk}:1", f"{second.pk}:0")
    assert (half["base"]["candidate"], half["other"]["candidate"]) == (0, 1)
    assert (half["overall"]["mean"], half["regressions"]) == (-0.5, 6)
    assert (half["changed"][0]["change"], len(half["changed"])) == (-1.0, 6)
    again = make_scored(alice, questions, ALL_RIGHT, HALF)
    itself, same = compared(asker, first.pk, first.pk, again.pk)
    assert (itself["regressions"], itself["changed_total"]) == (0, 0)
    assert (same["overall"]["mean"], same["comparable"]) == (0.0, True)
    assert (worst["overall"]["mean"], worst["regressions"]) == (-1.0, 12)
    assert worst["verdict"].startswith(f"Candidate {NAME} (run {second.pk}) scores lower")
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
    assert (found["pairs"], found["comparable"]) == (3, False)


def test_a_run_is_compared_with_its_last_one(asker, alice, questions):
    first = make_scored(alice, questions, ALL_RIGHT)
    make_scored(alice, questions, WORST, state=RunState.CANCELLED)
    make_scored(alice, questions, WORST, name="another")
    now = make_scored(alice, questions, HALF)
    [found] = compared(asker, "last", now.pk)
    assert found["base"]["run_id"] == first.pk
    refusal = asker.get("/compare", base="last", **{"with": first.pk})
    assert refusal.status_code == 422
    assert "There is no complete run of this name" in refusal.json()["detail"]


def test_cases_are_matched_by_content_and_a_live_run_is_provisional(asker, alice, questions):
    fewer = make_dataset(alice, "fewer", rows=5)
    base, other = make_scored(alice, questions, ALL_RIGHT), make_scored(alice, fewer, [1.0] * 5)
    [found] = compared(asker, base.pk, other.pk)
    assert found["cases"] == {"shared": 5, "only_before": 7, "only_after": 0}
    going = make_scored(alice, questions, [1.0, 1.0], state=RunState.RUNNING, ended=None)
    [found] = compared(asker, base.pk, going.pk)
    assert found["provisional"]
    assert " so far: " in found["verdict"]
    assert f"Run {going.pk} still goes on: these figures are provisional." in found["marks"]


def test_what_cannot_be_compared_is_refused(asker, run):
    number = run.pk
    many = ",".join(f"{number}:{candidate}" for candidate in range(10))
    wrong = {
        ("1", "1:2:3"): "pattern",
        ("1", "1,"): "pattern",
        ("1", "x"): "pattern",
        ("1", None): "with",
        (None, "1"): "base",
        (None, None): "base",
        (f"{number}:7", f"{number}"): "Its candidates are 0 to 0.",
        (f"{number}", many): "1 to 9 others",
    }
    found = {}
    for sides, said in wrong.items():
        named = zip(("base", "with"), sides, strict=True)
        answer = asker.get("/compare", **{name: side for name, side in named if side})
        if answer.status_code != 422 or said not in answer.content.decode():
            found[sides] = (answer.status_code, answer.content)
    assert found == {}


def test_prompts_are_known_again_by_name_and_cases_by_what_they_hold(alice, questions):
    """A candidate is known again by its name, though its prompt has another key."""
    good, bad = make_scored(alice, questions, ALL_RIGHT), make_scored(alice, questions, WORST)
    bad.candidates.update(key="edited")
    found = compare_runs(good, bad)
    assert (found.marks, found.regressions) == ([], 12)
    assert found.overall is not None
    assert found.overall.p < 0.05
    assert found.overall.high < 0
    fallen = found.changed()[0]
    assert (fallen.candidate, fallen.before, fallen.after) == (NAME, 1.0, 0.0)
    assert fallen.question.startswith("What is ")
    back = compare_runs(bad, good)
    assert (back.improvements, back.regressions) == (12, 0)
    shared = [case.fields for case in questions.cases.order_by("position")[:5]]
    moved = store_rows(alice, "moved", [{"question": "What is 50 + 1?", "expected": "51"}, *shared])
    document = run_document(moved, scorers=["numeric"])
    first = make_scored(alice, questions, ALL_RIGHT)
    second = make_scored(alice, moved, [0.0] * 6, [None] * 6, document=document)
    found = compare_runs(first, second)
    assert (found.pairs, found.only_after) == (5, ["prompt 1 · simulated/sim-small"])
    assert [mark.split(":")[0].split(" (")[0] for mark in found.marks] == [
        "The datasets differ",
        "5 of 12 cases shared; 7 only in the base are not counted as passes; 1 only in run "
        f"{second.pk} is left out.",
        "The scorers differ, so the scores cannot be compared.",
        "14 trials are only in one of the runs.",
    ]
    assert {trial.question for trial in found.changed()} == {row["question"] for row in shared}
    found = compare_runs(first, make_scored(alice, questions, [None] * 12))
    assert (found.pairs, found.overall) == (0, None)
    assert any(mark.startswith("12 trials are left out, since they failed") for mark in found.marks)


def test_the_command_says_what_the_api_says(asker, alice, bob, questions):
    run = make_scored(alice, questions, ALL_RIGHT, HALF)
    evil = make_scored(alice, questions, WORST, name="[red]evil[/] \x1b[31m")
    base, other = f"{run.pk}:0", f"{run.pk}:1"
    told = command("compare", base, other, evil.pk, "--json", "--user", "alice").lines
    assert told == compared(asker, base, other, evil.pk)
    shown = command("compare", base, other, evil.pk, "--user", "alice").out
    assert told[0]["verdict"] in " ".join(shown.split())
    assert "Score: 1.000 -> 0.500, −0.500" in shown
    assert "[red]evil[/]" in shown
    assert "\x1b" not in shown
    assert refused("compare", base, "x", "--user", "alice", told="'x' names nothing to compare")
    assert refused("compare", base, other, "--user", "bob", told="There is no run of this number")
