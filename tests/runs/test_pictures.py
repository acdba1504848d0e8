"""Pictures of an evaluation: candidates and cases, spread of scores, cost, cases without news."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from runs.models import Candidate, Dataset, Run, RunState, Score
from runs.selectors.pictures.heatmap import MOST_DRAWN, draw_heatmap, sample_evenly, split_evenly
from runs.selectors.pictures.solved import find_solved
from runs.selectors.scores.by_case import CaseTally
from tests.harness.factories import (
    add_candidate,
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    make_run,
    new_score,
)
from tests.runs.selection_parts import count, make_selection

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return make_person("ada")


def store(run: Run, values: dict[str, list[Any]]) -> None:
    """Values by candidate's prompt, a list for each repeat; `fail`: an error, None: not yet."""
    cases, position, scores = list(run.dataset.cases.order_by("position")), 0, []
    for candidate in run.candidates.order_by("position"):
        for repeat, row in enumerate(values[candidate.document["prompt"]["name"]]):
            for case, value in zip(cases, row, strict=True):
                position += 1
                fields: dict[str, Any] = {"repeat": repeat}
                if value == "fail":
                    fields |= {"error_class": "timeout", "error_message": "No answer."}
                elif value is None:
                    continue
                else:
                    fields |= {"value": value, "passed": value == 1}
                scores.append(new_score(run, case, candidate, position, **fields))
    Score.objects.bulk_create(scores)
    count(run)


@pytest.fixture
def run(ada: User) -> Run:
    """Of four cases one is solved by both, one by nobody, and one is not tried by the weak one."""
    run = make_run(ada, make_dataset(ada, rows=4))
    add_candidate(run, "strong", "sim-large")
    store(run, {"plain": [[0, 1, 0, None]], "strong": [[1, 1, 0, "fail"]]})
    return run


def heatmap_of(run: Run, person: User) -> Any:
    return client_of(person).get(f"/runs/{run.pk}/heatmap/").json()


def pictures_of(run: Run, person: User) -> str:
    text = client_of(person).get(f"/runs/{run.pk}/pictures/").content.decode()
    return " ".join(text.split())


def test_the_best_candidate_and_the_easiest_case_come_first(ada: User, run: Run) -> None:
    drawn = heatmap_of(run, ada)
    assert [row["name"].split()[0] for row in drawn["rows"]] == ["strong", "plain"]
    assert [column["cases"] for column in drawn["columns"]] == [[1], [0], [2], [3]]
    assert drawn["columns"][0]["question"] == "What is 1 + 1?"
    assert [row["values"] for row in drawn["rows"]] == [[1000, 1000, 0, None], [1000, 0, 0, None]]
    assert [row["failed"] for row in drawn["rows"]] == [[[3, 1]], []]
    assert "2 candidates, the best on top; 4 cases" in drawn["caption"]


def test_repeats_are_one_cell_with_their_mean_and_number(ada: User) -> None:
    run = make_run(ada, make_dataset(ada, rows=2))
    store(run, {"plain": [[1, 0], [0, 0], [0, "fail"]]})
    [row] = heatmap_of(run, ada)["rows"]
    assert (row["values"], row["tries"], row["failed"]) == ([333, 0], [3, 2], [[1, 1]])


def test_a_case_that_nobody_has_tried_yet_is_a_blank_column(ada: User) -> None:
    run = make_run(ada, make_dataset(ada, rows=3), state=RunState.RUNNING)
    store(run, {"plain": [[None, 1, None]]})
    drawn = heatmap_of(run, ada)
    assert drawn["rows"][0]["values"] == [1000, None, None]
    assert drawn["columns"][1:] == [{"size": 1, "cases": []}] * 2


def test_many_cases_are_put_together_and_many_candidates_sampled() -> None:
    candidates = [Candidate(pk=pk, position=pk, name=f"c{pk}") for pk in range(450)]
    tallies = [
        CaseTally(c.pk, case, 1, float(case < 300), 1, 1) for c in candidates for case in range(500)
    ]
    drawn = draw_heatmap(candidates, tallies, planned_cases=500)
    record = drawn.as_record({case: case for case in range(500)}, {})
    assert len(record["rows"]) == len(record["columns"]) == MOST_DRAWN
    assert (record["rows"][0]["name"], record["rows"][-1]["name"]) == ("c0", "c449")
    assert sum(column["size"] for column in record["columns"]) == 500
    assert record["rows"][7]["values"] == [1000] * 120 + [0] * 80
    assert sum(record["rows"][7]["tries"]) == 500
    assert "200 candidates are drawn, evenly from best to worst." in drawn.caption
    assert "Each of 200 columns is the mean of 2 or 3 cases of similar difficulty." in drawn.caption


@pytest.mark.parametrize("cases", [0, 1, 199, 200, 201, 1319, 100_000])
def test_no_case_is_left_out_of_the_columns(cases: int) -> None:
    groups = split_evenly(range(cases), 200)
    assert [case for group in groups for case in group] == list(range(cases))
    assert len(groups) == min(cases, 200)
    assert len(groups) == 0 or max(map(len, groups)) - min(map(len, groups)) <= 1


def test_a_sample_has_everybody_once() -> None:
    everybody = [Candidate(pk=pk) for pk in range(201)]
    found = [candidate.pk for candidate in sample_evenly(everybody, 200)]
    assert found == sorted(set(found))
    assert (len(found), found[0], found[-1]) == (200, 0, 200)


@pytest.mark.parametrize(
    ("by_candidate", "nobody", "everybody"),
    [
        pytest.param([(1, 1, 1), (2, 2, 2)], [], [7], id="all tries of both"),
        pytest.param([(1, 0, 1), (1, 0, 1)], [7], [], id="no try of either"),
        pytest.param([(2, 1, 2), (1, 1, 1)], [], [], id="one try of two"),
        pytest.param([(1, 0, 1)], [], [], id="one candidate is still to come"),
        pytest.param([(1, 0, 1), (0, 0, 1)], [], [], id="one candidate only failed"),
        pytest.param([(1, 1, 1), (1, 1, 2)], [], [], id="a failure may be wrong"),
    ],
)
def test_what_nobody_and_everybody_solves(
    by_candidate: list[tuple[int, int, int]], nobody: list[int], everybody: list[int]
) -> None:
    tallies = [
        CaseTally(place, 7, n, float(passes), passes, done)
        for place, (n, passes, done) in enumerate(by_candidate)
    ]
    assert find_solved(2, tallies) == (nobody, everybody)


def test_cases_that_tell_nothing_lead_to_their_trials(ada: User, run: Run) -> None:
    page = pictures_of(run, ada)
    assert f'Nobody solves <a href="/runs/{run.pk}/scores/?case=2">1 case</a>' in page
    assert f'Everybody solves <a href="/runs/{run.pk}/scores/?case=1">1 case</a>' in page
    table = client_of(ada).get(f"/runs/{run.pk}/scores/?case=2")
    assert {row.score.case.position for row in table.context["rows"]} == {2}


def test_cases_that_nobody_solves_become_a_dataset(ada: User, run: Run) -> None:
    client, address = client_of(ada), f"/runs/{run.pk}/collect/"
    assert "Save as a dataset" in pictures_of(run, ada)
    answer = client.post(address, {"by": "nobody", "name": "hard sums"})
    made = Dataset.objects.get(name="hard sums")
    assert answer["Location"] == made.get_absolute_url()
    assert [case.question for case in made.cases.all()] == ["What is 2 + 1?"]
    assert (made.expected_column, made.owner) == ("expected", ada)
    client.post(address, {"by": "everybody", "name": "hard sums"})
    assert Dataset.objects.get(name="hard sums", version=2).rows == 2
    refused = client.post(address, {"by": "nobody", "name": ""}, follow=True)
    assert "Enter a name for the dataset." in refused.content.decode()
    make_dataset(make_person("bob"), name="taken")
    refused = client.post(address, {"by": "nobody", "name": "taken"}, follow=True)
    assert "taken" in " ".join(str(message) for message in refused.context["messages"])


def test_scores_of_right_and_wrong_are_two_bars(ada: User, run: Run) -> None:
    assert "Scores of strong · simulated/sim-large: 1 at 0, 2 at 1" in pictures_of(run, ada)


def test_other_scores_are_spread_over_bins(ada: User) -> None:
    run = make_run(ada, make_dataset(ada, rows=4))
    store(run, {"plain": [[0.0, 0.52, 0.5, 1.0]]})
    page = pictures_of(run, ada)
    assert "1 at 0.00 to 0.05, 2 at 0.50 to 0.55, 1 at 0.95 to 1.00" in page


def test_cost_is_drawn_against_quality_with_the_front(ada: User, run: Run) -> None:
    assert "No price is known." in pictures_of(run, ada)
    prices = {"sim-small": {"input": 1, "output": 1}, "sim-large": {"input": 10, "output": 10}}
    Run.objects.filter(pk=run.pk).update(
        snapshot_of={"endpoints": {"simulated": {"prices": prices}}}
    )
    run.candidates.update(tokens_in=F("scored") * 100, tokens_out=F("scored") * 10)
    page = pictures_of(run, ada)
    assert "2 of 2 candidates are on the front" in page
    assert page.count('class="plot-error') == 2


def test_what_is_drawn_is_kept_until_the_run_changes(
    ada: User, run: Run, django_assert_max_num_queries: Any
) -> None:
    before = heatmap_of(run, ada)
    client = client_of(ada)
    with django_assert_max_num_queries(8) as asked:
        assert client.get(f"/runs/{run.pk}/heatmap/").json() == before
    assert not [query for query in asked if "runs_score" in query["sql"]]
    run.scores.filter(value=0).update(value=1, passed=True)
    Run.objects.filter(pk=run.pk).update(version=F("version") + 1)
    assert heatmap_of(run, ada)["rows"][0]["values"] == [1000, 1000, 1000, None]


def test_a_cell_opens_its_trial_or_its_trials(ada: User) -> None:
    run = make_run(ada, make_dataset(ada, rows=2))
    store(run, {"plain": [[1, 1], [0, None]]})
    client = client_of(ada)
    address = f"/runs/{run.pk}/cell/"
    one = client.get(address, {"candidate": 0, "case": 1})
    assert one["Location"] == f"/runs/{run.pk}/trials/2/"
    several = client.get(address, {"candidate": 0, "case": 0})
    assert several["Location"] == f"/runs/{run.pk}/scores/?candidate=0&case=0"


def test_a_kind_without_pictures_has_none(ada: User) -> None:
    make_endpoint()
    selection = make_selection(ada, make_dataset(ada, rows=10))
    assert client_of(ada).get(f"/runs/{selection.pk}/pictures/").status_code == 404


def test_held_out_cases_are_no_blank_columns(ada: User) -> None:
    drawn = draw_heatmap([], [], planned_cases=24, held_out=8)
    assert sum(len(group) for group in drawn.groups) == 16
    assert drawn.caption.endswith("8 cases held out: not drawn.")
