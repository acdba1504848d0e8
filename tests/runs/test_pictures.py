"""Pictures of an evaluation: candidates and cases, spread of scores, cost, cases without news."""

from collections import defaultdict

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from runs.models import Candidate, Dataset, Run, RunState, Score
from runs.selectors.pictures import heatmap
from runs.selectors.pictures.heatmap import draw_heatmap, sample_evenly, split_evenly
from runs.selectors.pictures.solved import find_solved
from runs.selectors.scores.by_case import CaseTally, tally_by_case
from tests.harness.factories import add_candidate, client_of, make_dataset, make_run
from tests.harness.table import table
from tests.runs.comparing_parts import OPEN, make_scored, make_selection, store_outcomes

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(alice):
    """Of four cases one is solved by both, one by nobody, and one is not tried by the weak one."""
    run = make_run(alice, make_dataset(alice, rows=4))
    add_candidate(run, "strong", "sim-large")
    return store_outcomes(run, [0, 1, 0, OPEN], [1, 1, 0, None])


def heatmap_of(run, person):
    return client_of(person).get(f"/runs/{run.pk}/heatmap/").json()


def pictures_of(run, person):
    return " ".join(client_of(person).get(f"/runs/{run.pk}/pictures/").text.split())


@pytest.mark.postgresql("aggregates: right answers and failures are counted by case")
def test_best_and_easiest_come_first_until_it_changes(alice, run, django_assert_max_num_queries):
    drawn = heatmap_of(run, alice)
    assert [row["name"].split()[0] for row in drawn["rows"]] == ["strong", "plain"]
    assert [column["cases"] for column in drawn["columns"]] == [[1], [0], [2], [3]]
    assert drawn["columns"][0]["question"] == "What is 1 + 1?"
    assert [row["values"] for row in drawn["rows"]] == [[1000, 1000, 0, None], [1000, 0, 0, None]]
    assert [row["failed"] for row in drawn["rows"]] == [[[3, 1]], []]
    assert "2 candidates, the best on top; 4 cases" in drawn["caption"]
    client = client_of(alice)
    with django_assert_max_num_queries(8) as asked:
        assert client.get(f"/runs/{run.pk}/heatmap/").json() == drawn
    assert not [query for query in asked if "runs_score" in query["sql"]]
    run.scores.filter(value=0).update(value=1, passed=True)
    Run.objects.filter(pk=run.pk).update(version=F("version") + 1)
    assert heatmap_of(run, alice)["rows"][0]["values"] == [1000, 1000, 1000, None]


def test_repeats_are_one_cell_that_opens_them_and_no_try_a_blank_column(alice, browser, endpoint):
    run = make_scored(alice, make_dataset(alice, rows=2), [[1, 0, 0], [0, 0, None]])
    [row] = heatmap_of(run, alice)["rows"]
    assert (row["values"], row["tries"], row["failed"]) == ([333, 0], [3, 2], [[1, 1]])
    three = make_dataset(alice, rows=3)
    run = make_scored(alice, three, [OPEN, 1, OPEN], state=RunState.RUNNING)
    drawn = heatmap_of(run, alice)
    assert drawn["rows"][0]["values"] == [1000, None, None]
    assert drawn["columns"][1:] == [{"size": 1, "cases": []}] * 2
    run = make_scored(alice, make_dataset(alice, rows=2), [[1, 0], [1]])
    address = f"/runs/{run.pk}/cell/"
    one = browser.get(address, {"candidate": 0, "case": 1})
    assert one["Location"] == f"/runs/{run.pk}/trials/2/"
    several = browser.get(address, {"candidate": 0, "case": 0})
    assert several["Location"] == f"/runs/{run.pk}/scores/?candidate=0&case=0"
    selection = make_selection(alice, make_dataset(alice, rows=10))
    assert browser.get(f"/runs/{selection.pk}/pictures/").status_code == 404, "it has none"


def test_many_cases_are_put_together_with_none_left_out_and_many_candidates_sampled(set_constant):
    for cases in (0, 1, 199, 200, 201, 1319, 100_000):
        groups = split_evenly(range(cases), 200)
        assert [case for group in groups for case in group] == list(range(cases))
        assert len(groups) == min(cases, 200)
        assert len(groups) == 0 or max(map(len, groups)) - min(map(len, groups)) <= 1
    everybody = [Candidate(pk=pk) for pk in range(201)]
    found = [candidate.pk for candidate in sample_evenly(everybody, 200)]
    assert found == sorted(set(found))
    assert (len(found), found[0], found[-1]) == (200, 0, 200)
    drawn = draw_heatmap([], [], planned_cases=24, held_out=8)
    assert sum(len(group) for group in drawn.groups) == 16, "held out cases are no blank columns"
    assert drawn.caption.endswith("8 cases held out: not drawn.")
    set_constant(heatmap, "MOST_DRAWN", 20)  # of 200
    candidates = [Candidate(pk=pk, position=pk, name=f"c{pk}") for pk in range(45)]
    tallies = [
        CaseTally(c.pk, case, 1, float(case < 30), 1, 1) for c in candidates for case in range(50)
    ]
    drawn = draw_heatmap(candidates, tallies, planned_cases=50)
    record = drawn.as_record({case: case for case in range(50)}, {})
    assert len(record["rows"]) == len(record["columns"]) == 20
    assert (record["rows"][0]["name"], record["rows"][-1]["name"]) == ("c0", "c44")
    assert sum(column["size"] for column in record["columns"]) == 50
    assert record["rows"][7]["values"] == [1000] * 12 + [0] * 8
    assert sum(record["rows"][7]["tries"]) == 50
    assert "20 candidates are drawn, evenly from best to worst." in drawn.caption
    assert "Each of 20 columns is the mean of 2 or 3 cases of similar difficulty." in drawn.caption


@table(
    ([(1, 1, 1), (2, 2, 2)], ([], [7])),
    ([(1, 0, 1), (1, 0, 1)], ([7], [])),
    ([(2, 1, 2), (1, 1, 1)], ([], [])),  # one try of two
    ([(1, 0, 1)], ([], [])),  # one candidate is still to come
    ([(1, 0, 1), (0, 0, 1)], ([], [])),  # one candidate only failed
    ([(1, 1, 1), (1, 1, 2)], ([], [])),  # a failure may be wrong
)
def test_what_nobody_and_everybody_solves(counts, solved):
    """By what each candidate scored, passed and did of case 7."""
    tallies = [
        CaseTally(at, 7, n, float(right), right, done) for at, (n, right, done) in enumerate(counts)
    ]
    assert find_solved(2, tallies) == solved


def test_cases_that_nobody_solves_lead_to_their_trials_and_become_a_dataset(alice, run, bob):
    client, address = client_of(alice), f"/runs/{run.pk}/collect/"
    page = pictures_of(run, alice)
    assert f'Nobody solves <a href="/runs/{run.pk}/scores/?case=2">1 case</a>' in page
    assert f'Everybody solves <a href="/runs/{run.pk}/scores/?case=1">1 case</a>' in page
    assert "Save as a dataset" in page
    table = client.get(f"/runs/{run.pk}/scores/?case=2")
    assert {row.score.case.position for row in table.context["rows"]} == {2}
    answer = client.post(address, {"by": "nobody", "name": "hard sums"})
    made = Dataset.objects.get(name="hard sums")
    assert answer["Location"] == made.get_absolute_url()
    assert [case.question for case in made.cases.all()] == ["What is 2 + 1?"]
    assert (made.expected_column, made.owner) == ("expected", alice)
    client.post(address, {"by": "everybody", "name": "hard sums"})
    assert Dataset.objects.get(name="hard sums", version=2).rows == 2
    refused = client.post(address, {"by": "nobody", "name": ""}, follow=True)
    assert "Enter a name for the dataset." in refused.text
    make_dataset(bob, name="taken")
    refused = client.post(address, {"by": "nobody", "name": "taken"}, follow=True)
    assert "taken" in " ".join(str(message) for message in refused.context["messages"])


def test_scores_are_two_bars_or_spread_over_bins_and_cost_is_drawn_against_quality(alice, run):
    assert "Scores of strong · simulated/sim-large: 1 at 0, 2 at 1" in pictures_of(run, alice)
    other = make_scored(alice, run.dataset, [0.0, 0.52, 0.5, 1.0])
    assert "1 at 0.00 to 0.05, 2 at 0.50 to 0.55, 1 at 0.95 to 1.00" in pictures_of(other, alice)
    assert "No price is known." in pictures_of(run, alice)
    prices = {"sim-small": {"input": 1, "output": 1}, "sim-large": {"input": 10, "output": 10}}
    Run.objects.filter(pk=run.pk).update(
        snapshot_of={"endpoints": {"simulated": {"prices": prices}}}
    )
    run.candidates.update(tokens_in=F("scored") * 100, tokens_out=F("scored") * 10)
    page = pictures_of(run, alice)
    assert "2 of 2 candidates are on the front" in page
    assert page.count('class="plot-error') == 2


CASES, REPEATS = 7, 3


@pytest.fixture
def repeated(alice):
    """Two candidates, three repeats: one in five trials failed, values are 0, 0.5 and 1."""
    outcomes = [
        [at % 3 / 2 if at % 5 else None for at in range(case, case + REPEATS)]
        for case in range(CASES)
    ]
    return make_scored(alice, make_dataset(alice, rows=CASES), outcomes, outcomes[::-1])


@pytest.mark.postgresql("SQL: sums by candidate and case, in one query")
def test_every_candidate_and_case_is_added_up_in_one_query_and_only_failed_has_no_mean(repeated):
    by_hand: dict[tuple[int, int], list[Score]] = defaultdict(list)
    for score in repeated.scores.all():
        by_hand[score.candidate_id, score.case_id].append(score)
    with CaptureQueriesContext(connection) as asked:
        found = tally_by_case(repeated)
    assert len(asked) == 1
    assert [(each.candidate_id, each.case_id) for each in found] == sorted(by_hand)
    for each in found:
        scores = by_hand[each.candidate_id, each.case_id]
        values = [score.value for score in scores if score.value is not None]
        assert (each.n, each.total) == (len(values), sum(values))
        assert each.passes == sum(bool(score.passed) for score in scores)
        assert (each.failures, each.done) == (len(scores) - len(values), REPEATS)
        assert each.mean == (sum(values) / len(values) if values else None)
    first = repeated.scores.order_by("candidate_id", "case_id")[0]
    alike = repeated.scores.filter(candidate=first.candidate, case=first.case)
    alike.update(value=None, passed=None, error_class="timeout")
    tally = tally_by_case(repeated)[0]
    assert tally == CaseTally(first.candidate_id, first.case_id, 0, 0.0, 0, REPEATS)
    assert tally.mean is None
    make_run(repeated.owner, repeated.dataset)
    wanted = repeated.candidates.get(position=1).pk
    assert [each.candidate_id for each in tally_by_case(repeated, [wanted])] == [wanted] * CASES
