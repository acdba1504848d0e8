"""The leaderboard: who is ranked how, on which cases, and what is beyond chance."""

import csv
import re
from io import StringIO
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.timezone import now

from runs.models import Run, RunFigures, RunState
from runs.reports.leaderboard_table import leaderboard_table, lines_below
from runs.reports.markdown import write_markdown
from runs.run_reports import report_of_run
from runs.selectors.gates import judge_run
from runs.selectors.runs import board_figures
from runs.selectors.runs.board_figures import stored_scores
from runs.selectors.runs.leaderboard import leaderboard
from runs.selectors.runs.run_list import describe
from runs.selectors.runs.run_summary import summarise
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.board_figures import keep_figures
from tests.harness.factories import client_of, make_dataset, run_document
from tests.runs.comparing_parts import OPEN, make_scored
from workers.engine.statistics.gates import Gates
from workers.engine.statistics.intervals import estimate_mean

pytestmark = pytest.mark.django_db

CASES = 10
RIGHT, WRONG, FAILED = 1.0, 0.0, None  # what becomes of a trial


def make(owner, *rows, repeats=1, **fields):
    """A run with a candidate a row: what became of its cases, or of each repeat of them."""
    dataset = make_dataset(owner, rows=len(rows[0]))
    prompts = [{"name": f"prompt {number}", "user": "{{question}}"} for number in range(len(rows))]
    document = run_document(dataset, repeats=repeats, prompts=prompts)
    given = {"document": document, "planned": len(rows[0]) * len(rows), **fields}
    return make_scored(owner, dataset, *rows, **given)


def rows_of(run, k=None) -> Any:
    """As one who knows which figures are there."""
    return leaderboard(run, k)


def names(rows):
    return [(row.position, row.rank) for row in rows]


def page_of(run, alice, query=""):
    address = reverse("run_leaderboard", args=[run.pk])
    return client_of(alice).get(f"{address}{query}").text


def test_a_candidate_that_fails_can_not_win_and_one_better_on_every_case_is_separable(alice):
    run = make(alice, [RIGHT] + [FAILED] * 9, [RIGHT] * 9 + [WRONG], [FAILED] * CASES)
    rows = leaderboard(run)
    assert names(rows) == [(1, 1), (0, 2), (2, None)]
    assert (rows[1].failed_share, rows[1].value_failures_wrong) == (0.9, 0.1)
    assert rows[2].value is None
    assert [row.value_failures_right for row in rows] == [0.9, 1.0, 1.0]
    page = " ".join(page_of(run, alice).split())
    assert "retry 19 failed trials before you decide" in page
    assert "0.100 to 1.000" in page
    clear = make(alice, [RIGHT] * CASES, [WRONG] * 9 + [FAILED])  # which changes nothing
    assert "before you decide" not in page_of(clear, alice)
    cells = re.findall(r'<td data-label="Failed".*?</td>', page_of(run, alice), re.DOTALL)
    texts = [" ".join(re.sub(r"<[^>]*>", "", cell).split()) for cell in cells]
    assert texts == ["0", "9 (90.0 %)", "10 (100.0 %)"]
    hard = [case / 40 for case in range(40)]  # the same cases are hard for both
    best, other = rows_of(make(alice, [value + 0.1 for value in hard], hard))
    assert other.high > best.low
    assert other.separable
    assert best.leads
    assert other.versus_best.difference.mean == pytest.approx(-0.1)
    assert other.versus_best.difference.low <= -0.1 <= other.versus_best.difference.high < 0


@pytest.mark.parametrize("state", [RunState.COMPLETED, RunState.RUNNING])
def test_the_score_of_a_run_is_that_of_its_best_candidate_on_every_page(alice, state):
    poor, good = [RIGHT] * 4 + [WRONG] * 6, [RIGHT] * 9 + [WRONG]
    lucky, late = [RIGHT] + [FAILED] * 9, [RIGHT] + [OPEN] * 9
    run = make(alice, poor, good, lucky, late, state=state, ended=None)
    best = run.candidates.get(position=1)
    for is_stored in (False, True):
        if is_stored:
            Run.objects.filter(pk=run.pk).update(state="completed", ended=now())
            run.refresh_from_db()
            keep_figures(run.pk)
        assert bool(stored_scores([run])) is is_stored
        text = take_snapshot(run)["text"]
        assert text["score"] == "0.900"
        assert text["score_context"] == f"{best.name}; 95 % interval, n = 10"
        [row], [told] = describe([run]), summarise([run])
        assert row.score
        assert (row.score.value, row.best, told.score.value) == (0.9, best, 0.9)
        assert told.score.value_failures_wrong == 0.9
        assert told.best
        assert told.best.candidate == best.key


def test_gates_judge_the_best_candidate_or_the_one_that_is_named(alice):
    run = make(alice, [RIGHT] * 9 + [WRONG], [RIGHT] * 6 + [FAILED] * 4)
    first, second = run.candidates.order_by("position").values_list("name", flat=True)
    for named, passed, told in (
        (None, True, f"Score of “{first}” 0.9000, failed trials counted as wrong"),
        (second, False, f"Score of “{second}” 0.6000, failed trials counted as wrong"),
        ("nobody", False, "No trial of “nobody” was scored"),
    ):
        gates = Gates(min_score=0.8, max_error_rate=1, score_of=named)
        [check] = [one for one in judge_run(run, gates).checks if one.name == "score"]
        assert check.passed is passed
        assert check.told.startswith(told)


def test_the_first_is_marked_when_it_is_separable_from_the_second(alice):
    row = [RIGHT] * 9 + [WRONG]
    rows = leaderboard(make(alice, row, [RIGHT] * 8 + [WRONG] * 2, [WRONG] * CASES))
    assert [row.separable for row in rows] == [False, False, True]
    for second, leads in (
        ([RIGHT] + [WRONG] * 9, True),
        ([RIGHT] * 8 + [WRONG] * 2, False),
        ([FAILED] + [WRONG] * 9, False),  # not comparable
        ([OPEN] * CASES, False),  # nobody to compare with yet
    ):
        run = make(alice, [RIGHT] * CASES, second)
        assert any(row.leads for row in leaderboard(run)) == leads
    assert 'class="best"' not in page_of(run, alice)
    run = make(alice, [RIGHT] * CASES, [RIGHT] + [WRONG] * 9)
    whole = client_of(alice).get(run.get_absolute_url()).text
    for page in (whole, page_of(run, alice)):
        assert 'class="best"' in page
        assert not [words for words in ("pass@", "Ranked by", "too early") if words in page]
    assert leaderboard(run)[0].repeats is None


def test_a_half_filled_board_ranks_by_the_cases_that_all_but_late_ones_have_reached(alice):
    """The first was asked the easy cases only so far: on those it is the worse one."""
    ahead = [RIGHT] * 5 + [WRONG] * 15
    behind = [RIGHT] * 4 + [WRONG] + [RIGHT] * 5 + [OPEN] * 10
    going = make(alice, ahead, behind, state=RunState.RUNNING, ended=None, planned=40)
    counted = going.candidates.get(position=1)
    assert (counted.done, counted.scored, counted.failed, counted.value_sum) == (10, 10, 0, 9.0)
    rows = leaderboard(going)
    assert names(rows) == [(1, 1), (0, 2)]
    assert [row.value for row in rows] == [0.9, 0.25]
    assert [row.compared_value for row in rows] == [0.9, 0.5]
    assert {row.compared_cases for row in rows} == {10}
    assert "Ranked by the 10 cases that all have reached" in " ".join(page_of(going, alice).split())
    late = [[RIGHT, WRONG] * CASES, [RIGHT] * 2 + [OPEN] * 18, [RIGHT] * 20]
    early = make(alice, *late, state=RunState.RUNNING, ended=None)
    assert names(leaderboard(early)) == [(2, None), (0, None), (1, None)]
    told = " ".join(page_of(early, alice).split())
    assert told.count("too early</span>") == 1
    assert "No ranks yet; in order by the 20 cases that all but those marked" in told
    unbegun = make(alice, [RIGHT] * 10, [OPEN] * 10, state=RunState.RUNNING, ended=None)
    assert names(leaderboard(unbegun)) == [(0, None), (1, None)]


def test_values_that_are_no_shares_have_the_bootstrap_beside_them(alice):
    run = make(alice, [case / 20 for case in range(20)], [0.0] * 19 + [0.4])
    first, second = rows_of(run)
    drawn = []
    for row in (first, second):
        assert row.interval == "student"
        assert row.bootstrap.low <= row.value <= row.bootstrap.high
        drawn.append((row.low, row.bootstrap.low))
    assert drawn[0][1] == pytest.approx(drawn[0][0], abs=0.04)
    assert drawn[1][0] < 0 <= drawn[1][1]  # draws stay within what was seen
    assert "Student&#x27;s t for other values, below it the bootstrap" in page_of(run, alice)
    shares = leaderboard(make(alice, [RIGHT, WRONG]))[0]
    assert (shares.interval, shares.bootstrap) == ("wilson", None)


REPEATED = [[RIGHT] * 4] * 5 + [[RIGHT, WRONG, WRONG, WRONG]] * 5


def test_repeats_have_columns_of_their_own_and_k_is_chosen_by_a_link(alice):
    run = make(alice, REPEATED, [[RIGHT] * 4] * 10, repeats=4)
    row = rows_of(run, 2)[1]
    assert (row.repeats.majority, row.repeats.mean) == (0.5, 0.625)
    assert row.repeats.pass_at_k == pytest.approx((5 + 5 * 0.5) / 10)
    assert row.repeats.pass_hat_k == 0.5
    whole = page_of(run, alice)
    assert "pass@4" in whole
    for k in (1, 2, 3):
        assert f'href="{run.get_absolute_url()}?k={k}#' in whole
    assert "pass@2" in page_of(run, alice, "?k=2")
    for wrong in ("0", "5", "x", "99999999"):
        assert "pass@4" in page_of(run, alice, f"?k={wrong}")
    shown = client_of(alice).get(f"{run.get_absolute_url()}?k=3").text
    assert 'leaderboard/?k=3"' in shown  # where the rows are fetched again


def adds_up(asked):
    """Whether all scores were read, not only those that people gave another value."""
    return any('FROM "runs_score"' in query["sql"] for query in asked.captured_queries)


def test_what_ended_is_read_and_not_added_up_again(alice):
    run = make(alice, REPEATED, [[0.25, 0.5, 0.5, 0.5]] * 10, repeats=4)
    fresh = leaderboard(run)
    shown = take_snapshot(run)["text"]["score_interval"]
    keep_figures(run.pk)
    # Also before it is stored: nothing would change it on that page any more.
    assert take_snapshot(Run.objects.get(pk=run.pk))["text"]["score_interval"] == shown
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING, ended=None)
    live = take_snapshot(Run.objects.get(pk=run.pk))["text"]["score_interval"]
    assert live != shown  # from counters alone, and wider
    Run.objects.filter(pk=run.pk).update(state=run.state, ended=run.ended)
    RunFigures.objects.filter(run=run).update(run=run)
    other = Run.objects.get(pk=run.pk)
    other.created = other.created.replace(year=2001)  # as another process, which remembers nothing
    with CaptureQueriesContext(connection) as asked:
        assert leaderboard(other) == fresh
    assert not adds_up(asked)
    Run.objects.filter(pk=run.pk).update(version=run.version + 1, value_sum=0.0)
    changed = Run.objects.get(pk=run.pk)
    with CaptureQueriesContext(connection) as asked:
        leaderboard(changed)
    assert adds_up(asked)


def test_a_run_that_goes_on_is_not_added_up_with_every_look(alice, set_constant):
    run = make(alice, [RIGHT] * 3, [WRONG] * 3, state=RunState.RUNNING, ended=None)
    keep_figures(run.pk)
    keep_figures(run.pk + 1)  # which was removed
    assert not RunFigures.objects.exists()
    clock = count()  # a second passes while it is added up, and with every look
    set_constant(board_figures, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    leaderboard(run)
    looked = []
    for version in range(1, 41):
        run.version = version
        with CaptureQueriesContext(connection) as asked:
            leaderboard(run)
        looked.append(adds_up(asked))
    rest = board_figures.REST - 1
    assert looked == [False] * rest + [True] + [False] * (39 - rest)


def test_lists_and_tiles_have_the_interval_of_the_cases(alice):
    run = make(alice, [[RIGHT] * 9] * 5 + [[WRONG] * 9] * 5, repeats=9)
    keep_figures(run.pk)
    row = rows_of(run)[0]
    as_if_independent = estimate_mean(90, 45.0, 45.0)
    assert as_if_independent is not None
    widest = 2 * (as_if_independent.high - as_if_independent.low)
    assert row.high - row.low > widest
    tile = take_snapshot(run)["text"]["score_interval"]
    assert tile == f"{row.low:.2f} – {row.high:.2f}"
    assert tile in client_of(alice).get(reverse("runs")).text
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING, ended=None)
    going = Run.objects.get(pk=run.pk)
    low, high = (float(t) for t in take_snapshot(going)["text"]["score_interval"].split(" – "))
    assert high - low > widest


def test_the_api_and_the_file_of_candidates_tell_the_same_without_a_formula(alice, asker):
    run = make(alice, REPEATED, [[RIGHT] * 4] * 10, repeats=4)
    run.candidates.filter(position=0).update(name="=cmd() · simulated/sim-small")
    best, other = asker.get(f"/runs/{run.pk}/candidates", k=3).json()["data"]
    row = rows_of(run, 3)[1]
    assert best["versus_best"] is None
    assert other["versus_best"] == row.versus_best.as_record()
    assert (other["versus_best"]["cases"], other["repeats"]) == (10, row.repeats._asdict())
    assert (other["low"], other["high"], other["interval"]) == (row.low, row.high, "wilson")
    assert (other["compared_cases"], other["cases"]) == (10, 10)
    assert asker.get(f"/runs/{run.pk}/candidates", k=0).status_code == 422
    answer = client_of(alice).get(reverse("run_file", args=[run.pk, "candidates.csv"]))
    best, other = csv.DictReader(StringIO(answer.text))
    row = rows_of(run)[1]
    assert other["name"] == "'=cmd() · simulated/sim-small"
    assert (best["rank"], other["rank"], best["to_best"]) == ("1", "2", "")
    told = [float(other[name]) for name in ("to_best", "pass_at_k", "low")]
    assert told == [row.versus_best.difference.mean, row.repeats.pass_at_k, row.low]


def test_reports_tell_the_same(alice):
    """On the page, in the terminal and in a pull request."""
    run = make(alice, [RIGHT] * 36 + [WRONG] * 4, [RIGHT] * 33 + [WRONG] * 7, [WRONG] * 40)
    close = rows_of(run)[1]
    assert not close.separable
    assert close.versus_best.more_cases == 89  # 129 in all: 3.19² · 0.0712 / 0.075²
    assert "about 89 more\n  cases would separate them" in page_of(run, alice)
    report = report_of_run(run)
    told = write_markdown(report)
    assert "| `prompt 1 · simulated/sim-small` | 0.825 | 0.68 – 0.91 | ~−0.075 | 0 |" in told
    assert "| `prompt 2 · simulated/sim-small` | 0.000 | 0.00 – 0.09 | −0.900 | 0 |" in told
    assert "About 89 more cases would separate them." in told
    assert "pass@" not in told
    assert "About 89 more cases would separate them." in "".join(lines_below(report))
    assert report.as_record()["candidates"][1]["versus_best"]["more_cases"] == 89
    report = report_of_run(make(alice, REPEATED, [[RIGHT] * 4] * 10, repeats=4))
    assert "| majority | pass@4 | pass^4 |" in write_markdown(report)
    heads = [str(column.header) for column in leaderboard_table(report.candidates).columns]
    assert heads[:7] == [
        *("candidate", "score", "95 %", "to the best", "majority", "pass@4", "pass^4")
    ]
    assert report.outcome.score is not None
    assert report.outcome.score.n == 40  # of the best, its interval by case
    assert report.outcome.score.low < 0.73  # 0.91 if trials were cases
