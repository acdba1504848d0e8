"""The scores table with the repeats of a candidate on a case in one row."""

from collections import defaultdict
from itertools import product
from statistics import fmean
from typing import Any

import pytest
from django.http import QueryDict
from django.urls import reverse
from django.utils.http import urlencode

from runs.forms.filters import read_trial_filters
from runs.models import Run, RunState, Score
from runs.selectors.scores import fold_places, trials
from runs.selectors.scores.folded import list_folded
from runs.selectors.scores.table import folded_rows
from runs.selectors.scores.trials import Cursor
from tests.harness.factories import (
    add_candidate,
    client_of,
    make_dataset,
    make_run,
    new_score,
    run_document,
)

pytestmark = pytest.mark.django_db

CASES, REPEATS = 10, 3
PAGE_SIZE = 8  # so that few rows make several pages


@pytest.fixture
def short_pages():
    with pytest.MonkeyPatch.context() as patch:
        for module in (trials, fold_places):
            patch.setattr(module, "PAGE_SIZE", PAGE_SIZE)
        yield


@pytest.fixture(params=["ended", "goes on", "whole"])
def any_run(alice, short_pages, request):
    """Pages are found in other ways where a run has ended, and where no try is missing."""
    state = RunState.RUNNING if request.param == "goes on" else RunState.COMPLETED
    return make_repeated_run(alice, state=state, missing=-1 if request.param == "whole" else 4)


@pytest.fixture
def repeated_run(alice, short_pages):
    return make_repeated_run(alice)


def make_repeated_run(alice, state=RunState.COMPLETED, missing=4):
    """In the order of the engine: all cases once, then all again. One pair only failed, of another
    the first try may still be missing."""
    dataset = make_dataset(alice, rows=CASES)
    document = run_document(dataset, repeats=REPEATS)
    planned = 2 * CASES * REPEATS
    run = make_run(alice, dataset, planned=planned, document=document, state=state)
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


def tries_of(run):
    found = defaultdict(list)
    for score in run.scores.select_related("candidate", "case").order_by("position"):
        found[score.candidate.position, score.case.position].append(score)
    return found


def rows_on_pages(run, **query):
    """Forwards; then the same backwards must agree."""
    filters, pages = read_trial_filters(QueryDict(urlencode(query))), []
    page = list_folded(run, filters, after=None, before=None)
    while True:
        pages.append(folded_rows(run, page.scores, filters))
        if page.next is None:
            break
        page = list_folded(run, filters, after=Cursor.read(str(page.next)), before=None)
    for expected in reversed(pages[:-1]):
        page = list_folded(run, filters, after=None, before=Cursor.read(str(page.previous)))
        found = folded_rows(run, page.scores, filters)
        assert [pair_of(row) for row in found] == [pair_of(row) for row in expected]
    return [row for page in pages for row in page]


def pair_of(row):
    return row.score.candidate.position, row.score.case.position


FOLDED = [
    ({}, lambda score: True),
    ({"status": "failed"}, lambda score: bool(score.error_class)),
    ({"status": "wrong", "candidate": "1"}, lambda score: score.value == 0),
    ({"min": "0.5"}, lambda score: score.value == 1),
    ({"q": "is 8 +"}, lambda score: score.case.position == 8),
    ({"case": "3,5"}, lambda score: score.case.position in (3, 5)),
]


def expected_folds(run, query, belongs):
    expected = {}
    for pair, tries in tries_of(run).items():
        is_wanted = "candidate" not in query or pair[0] == int(query["candidate"])
        if is_wanted and (matching := sum(belongs(score) for score in tries)):
            values = [score.value for score in tries if score.value is not None]
            mean = pytest.approx(fmean(values)) if values else None
            expected[pair] = (matching, len(tries), values.count(1.0), mean)
    return expected


@pytest.mark.postgresql("SQL: means of several tries, grouped, filtered and in a stable order")
def test_every_pair_with_a_try_that_matches_is_one_row_in_its_order(any_run):
    wrong = []
    columns = {"score": "value", "latency": "latency_ms"}
    signs = ("", "-")
    for query, belongs in FOLDED:
        expected = expected_folds(any_run, query, belongs)
        for sign, word in product(signs, ("position", *columns)):
            rows = rows_on_pages(any_run, sort=sign + word, **query)
            found = {
                pair_of(row): (row.fold.matching, row.fold.tries, row.fold.passes, row.fold.value)
                for row in rows
            }
            if found != expected or len(rows) != len(found):
                wrong.append(f"{query} by {sign}{word}: {found}, expected {expected}")
            shown = [getattr(row.fold, columns[word]) for row in rows] if word in columns else []
            known = sorted((value for value in shown if value is not None), reverse=sign == "-")
            if shown[: len(known)] != known:
                wrong.append(f"{query} by {sign}{word}: {shown}")
    assert wrong == []


def test_the_page_says_how_many_were_right_opens_tries_and_leads_on(alice, repeated_run):
    run, client = repeated_run, client_of(alice)
    address = reverse("run_scores", args=[run.pk])
    text = " ".join(client.get(address, {"case": "0"}).content.decode().split())
    assert '2 of 2 right</span></a> <span class="chip chip-warn">1 failed</span>' in text
    assert "Repeats are folded." in text
    assert 'href="?candidate=0&amp;case=0&amp;each=1"' in text
    opened = client.get(reverse("tries_row", args=[run.pk, 0, 0])).content.decode()
    for position in (0, 20, 40):
        assert reverse("trial", args=[run.pk, position]) in opened
    each = client.get(address, {"case": "0", "each": "1"})
    assert [row.score.position for row in each.context["rows"]] == [0, 1, 20, 21, 40, 41]
    assert 'name="each" value="1"' in each.content.decode()
    query = {"min": "0.5", "sort": "-latency"}
    answer = client.get(address, query)
    pairs = [pair_of(row) for row in answer.context["rows"]]
    while following := answer.context["page"].next:
        answer = client.get(address, {**query, "after": str(following)})
        pairs += [pair_of(row) for row in answer.context["rows"]]
    assert pairs == [pair_of(row) for row in rows_on_pages(run, **query)]


def test_without_repeats_nothing_is_folded_and_before_the_first_score_pages_open(alice):
    dataset, client = make_dataset(alice, rows=1), client_of(alice)
    run = make_run(alice, dataset)
    new_score(run, dataset.cases.get(), run.candidates.get(), 0).save()
    answer = client.get(reverse("run_scores", args=[run.pk]))
    assert [row.fold for row in answer.context["rows"]] == [None]
    assert "folded" not in answer.content.decode()
    waits = {"state": RunState.QUEUED, "started": None, "ended": None}
    queued = make_run(alice, dataset, document=run_document(dataset, repeats=REPEATS), **waits)
    for view in ("run", "run_pictures", "run_scores"):
        assert client.get(reverse(view, args=[queued.pk])).status_code == 200, view


def test_a_kept_order_is_left_when_a_score_changes(repeated_run):
    """Of a run that has ended the places of rows are kept: not beyond a rerun in place."""
    run = repeated_run
    first = rows_on_pages(run, sort="-score", candidate="0")[0]
    wrong = run.scores.filter(candidate=first.score.candidate, case=first.score.case)
    wrong.update(value=0.0, passed=False, error_class="", error_message="")
    Run.objects.filter(pk=run.pk).update(version=run.version + 1, value_sum=1.0)
    run.refresh_from_db()
    after = rows_on_pages(run, sort="-score", candidate="0")[0]
    assert pair_of(after) != pair_of(first)
