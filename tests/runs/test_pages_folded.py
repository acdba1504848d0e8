"""The scores table with the repeats of a candidate on a case in one row."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from statistics import fmean
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs.models import Run, RunState, Score
from tests.harness.factories import (
    add_candidate,
    client_of,
    make_dataset,
    make_person,
    make_run,
    new_score,
    run_document,
)

pytestmark = pytest.mark.django_db

CASES, REPEATS = 40, 3
Pair = tuple[int, int]  # the positions of a candidate and a case


@pytest.fixture
def ada() -> User:
    return make_person("ada")


@pytest.fixture
def run(ada: User) -> Run:
    return make_repeated_run(ada)


@pytest.fixture(params=["ended", "goes on", "whole"])
def any_run(ada: User, request: pytest.FixtureRequest) -> Run:
    """Pages are found in other ways where a run has ended, and where no try is missing."""
    state = RunState.RUNNING if request.param == "goes on" else RunState.COMPLETED
    return make_repeated_run(ada, state=state, missing=-1 if request.param == "whole" else 4)


def make_repeated_run(ada: User, state: str = RunState.COMPLETED, missing: int = 4) -> Run:
    """In the order of the engine: all cases once, then all again. One pair only failed, of another
    the first try may still be missing."""
    dataset = make_dataset(ada, rows=CASES)
    document = run_document(dataset, repeats=REPEATS)
    planned = 2 * CASES * REPEATS
    run = make_run(ada, dataset, planned=planned, document=document, state=state)
    add_candidate(run, "terse", "sim-large")
    candidates, cases = list(run.candidates.order_by("position")), list(dataset.cases.all())
    scores = []
    places = product(range(REPEATS), cases, candidates)
    for position, (repeat, case, candidate) in enumerate(places):
        fields: dict[str, Any] = {"repeat": repeat, "latency_ms": float(position * 7 % 50)}
        if position % 11 == 0 or (candidate.position, case.position) == (1, 5):
            fields |= {"error_class": "timeout", "error_message": "No answer."}
        else:
            fields |= {"value": float(position * 5 % 3 > 0), "passed": position * 5 % 3 > 0}
        if position != missing:
            scores.append(new_score(run, case, candidate, position, **fields))
    Score.objects.bulk_create(scores)
    return run


def tries_of(run: Run) -> dict[Pair, list[Score]]:
    found: dict[Pair, list[Score]] = defaultdict(list)
    for score in run.scores.select_related("candidate", "case").order_by("position"):
        found[score.candidate.position, score.case.position].append(score)
    return found


def rows_on_pages(client: Client, run: Run, **query: str) -> Iterator[Any]:
    """Forwards; then the same backwards must agree."""
    address, pages = reverse("run_scores", args=[run.pk]), []
    answer = client.get(address, query)
    while True:
        pages.append(answer.context["rows"])
        if (following := answer.context["page"].next) is None:
            break
        answer = client.get(address, {**query, "after": str(following)})
    for expected in reversed(pages[:-1]):
        answer = client.get(address, {**query, "before": str(answer.context["page"].previous)})
        assert [pair_of(row) for row in answer.context["rows"]] == [
            pair_of(row) for row in expected
        ]
    return (row for page in pages for row in page)


def pair_of(row: Any) -> Pair:
    return row.score.candidate.position, row.score.case.position


@pytest.mark.parametrize(
    ("query", "belongs"),
    [
        ({}, lambda score: True),
        ({"status": "failed"}, lambda score: bool(score.error_class)),
        ({"status": "wrong", "candidate": "1"}, lambda score: score.value == 0),
        ({"min": "0.5"}, lambda score: score.value == 1),
        ({"q": "is 12 +"}, lambda score: score.case.position == 12),
        ({"case": "3,5"}, lambda score: score.case.position in (3, 5)),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_every_pair_with_a_try_that_matches_is_one_row(
    ada: User, any_run: Run, query: dict[str, str], belongs: Callable[[Score], bool]
) -> None:
    expected = {}
    for pair, tries in tries_of(any_run).items():
        is_wanted = "candidate" not in query or pair[0] == int(query["candidate"])
        if is_wanted and (matching := sum(belongs(score) for score in tries)):
            values = [score.value for score in tries if score.value is not None]
            mean = pytest.approx(fmean(values)) if values else None
            expected[pair] = (matching, len(tries), values.count(1.0), mean)
    for sort in ("position", "-position", "score", "-latency"):
        rows = list(rows_on_pages(client_of(ada), any_run, sort=sort, **query))
        found = {
            pair_of(row): (row.fold.matching, row.fold.tries, row.fold.passes, row.fold.value)
            for row in rows
        }
        assert found == expected, sort
        assert len(rows) == len(found), f"{sort}: a pair is shown twice"


@pytest.mark.parametrize("name", ["value", "latency_ms"])
def test_rows_are_sorted_by_what_they_show(ada: User, any_run: Run, name: str) -> None:
    word = name.removesuffix("_ms").replace("value", "score")
    for sort, is_descending in ((word, False), (f"-{word}", True)):
        rows = rows_on_pages(client_of(ada), any_run, sort=sort)
        shown = [getattr(row.fold, name) for row in rows]
        known = [value for value in shown if value is not None]
        assert known == sorted(known, reverse=is_descending)
        assert shown[: len(known)] == known, "what has no number comes last"


def test_a_row_says_how_many_were_right_and_opens_its_tries(ada: User, run: Run) -> None:
    client = client_of(ada)
    page = client.get(reverse("run_scores", args=[run.pk]), {"case": "0"})
    text = " ".join(page.content.decode().split())
    assert '2 of 2 right</span></a> <span class="chip chip-warn">1 failed</span>' in text
    assert "Repeats are folded." in text
    assert 'href="?candidate=0&amp;case=0&amp;each=1"' in text
    opened = client.get(reverse("tries_row", args=[run.pk, 0, 0])).content.decode()
    for position in (0, 80, 160):
        assert reverse("trial", args=[run.pk, position]) in opened


def test_every_try_is_a_row_where_that_is_asked_for(ada: User, run: Run) -> None:
    answer = client_of(ada).get(reverse("run_scores", args=[run.pk]), {"case": "0", "each": "1"})
    assert [row.score.position for row in answer.context["rows"]] == [0, 1, 80, 81, 160, 161]
    assert 'name="each" value="1"' in answer.content.decode()


def test_a_run_without_repeats_is_as_it_was(ada: User) -> None:
    run = make_run(ada, make_dataset(ada, rows=1))
    new_score(run, run.dataset.cases.get(), run.candidates.get(), 0).save()
    answer = client_of(ada).get(reverse("run_scores", args=[run.pk]))
    assert [row.fold for row in answer.context["rows"]] == [None]
    assert "folded" not in answer.content.decode()


def test_the_page_of_a_run_with_repeats_opens_before_its_first_score(ada: User) -> None:
    dataset = make_dataset(ada, rows=1)
    document = run_document(dataset, repeats=REPEATS)
    run = make_run(ada, dataset, document=document, state=RunState.QUEUED, started=None, ended=None)
    assert client_of(ada).get(run.get_absolute_url()).status_code == 200
    assert client_of(ada).get(reverse("run_pictures", args=[run.pk])).status_code == 200
    assert client_of(ada).get(reverse("run_scores", args=[run.pk])).status_code == 200


def test_a_kept_order_is_left_when_a_score_changes(ada: User, run: Run) -> None:
    """Of a run that has ended the places of rows are kept: not beyond a rerun in place."""
    first = next(rows_on_pages(client_of(ada), run, sort="-score", candidate="0"))
    wrong = run.scores.filter(candidate=first.score.candidate, case=first.score.case)
    wrong.update(value=0.0, passed=False, error_class="", error_message="")
    Run.objects.filter(pk=run.pk).update(version=run.version + 1, value_sum=1.0)
    after = next(rows_on_pages(client_of(ada), run, sort="-score", candidate="0"))
    assert pair_of(after) != pair_of(first)
