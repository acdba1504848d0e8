"""The scores table, the errors and the trial page of a run."""

import re
from collections import defaultdict
from itertools import product
from statistics import fmean
from typing import Any

import pytest
from django.http import QueryDict
from django.urls import reverse
from django.utils.http import urlencode

from runs.forms.filters import read_trial_filters
from runs.models import Case, Run, RunState, Score
from runs.selectors.runs.errors import normalise
from runs.selectors.scores import fold_places, trials
from runs.selectors.scores.folded import list_folded
from runs.selectors.scores.table import COLUMNS, USUAL, folded_rows
from runs.selectors.scores.trials import SORTS, Cursor, list_scores
from tests.harness.factories import (
    add_candidate,
    client_of,
    make_dataset,
    make_run,
    new_score,
    run_document,
)
from tests.harness.table import table

pytestmark = pytest.mark.django_db

CASES = 13
PAGE_SIZE = 8  # so that few rows make several pages


@pytest.fixture
def short_pages(set_constant):
    for module in (trials, fold_places):
        set_constant(module, "PAGE_SIZE", PAGE_SIZE)


@pytest.fixture
def run(alice, short_pages):
    return make_scored_run(alice, CASES)


def make_scored_run(alice, cases):
    """Every 5th score failed, every 7th cached, many with the same score and latency."""
    dataset = make_dataset(alice, rows=cases)
    run = make_run(alice, dataset, planned=2 * cases)
    candidates = [run.candidates.get(), add_candidate(run, "terse", "sim-large")]
    scores = []
    for place, case in enumerate(dataset.cases.all()):
        for candidate in candidates:
            position = 2 * place + candidate.position
            fields: dict[str, Any] = {
                "latency_ms": None if position % 11 == 0 else float(position % 4),
                "cached": position % 7 == 0,
            }
            if position % 5:
                fields |= {"value": position % 3 / 2, "passed": position % 3 == 2}
            else:
                fields |= {"error_class": "timeout", "error_message": f"No answer, {position} s."}
            scores.append(new_score(run, case, candidate, position, **fields))
    Score.objects.bulk_create(scores)
    return run


def there_and_back(run, query, listed, shown):
    """What is shown on all pages, forwards; then the same backwards must agree."""
    filters, pages = read_trial_filters(QueryDict(urlencode(query))), []
    page = listed(run, filters, after=None, before=None)
    while True:
        pages.append(shown(page, filters))
        if page.next is None:
            break
        page = listed(run, filters, after=Cursor.read(str(page.next)), before=None)
    for expected in reversed(pages[:-1]):
        page = listed(run, filters, after=None, before=Cursor.read(str(page.previous)))
        assert shown(page, filters) == expected
    assert page.previous is None or len(pages) > 1
    return [one for page in pages for one in page]


def walk(run, **query):
    """Every trial position."""
    return there_and_back(run, query, list_scores, lambda page, _: positions_on(page))


def positions_on(page):
    return [score.position for score in page.scores]


def test_the_page_and_trials_lead_there_and_back_through_what_an_address_asks_for(alice, run):
    query = {"status": "ok", "sort": "-score"}
    order = walk(run, **query)
    client, address = client_of(alice), reverse("run_scores", args=[run.pk])
    page = client.get(address, query).context["page"]
    first = positions_on(page)
    page = client.get(address, {**query, "after": str(page.next)}).context["page"]
    assert first + positions_on(page) == order[: 2 * PAGE_SIZE]
    back = client.get(address, {**query, "before": str(page.previous)}).context["page"]
    assert positions_on(back) == first
    few = {"status": "failed", "candidate": "0", "sort": "-position"}
    position, seen = walk(run, **few)[0], []
    while position is not None:
        answer = client.get(reverse("trial", args=[run.pk, position]), few)
        seen.append(position)
        following = answer.context["neighbours"].next
        position = following.position if following else None
    assert seen == walk(run, **few)
    assert answer.context["neighbours"].previous.position == seen[-2]


QUERIES = [
    ({}, lambda score: True),
    ({"status": "ok"}, lambda score: not score.error_class),
    ({"status": "failed"}, lambda score: bool(score.error_class)),
    ({"status": "wrong"}, lambda score: score.passed is False),
    ({"status": "cached", "candidate": "1"}, lambda score: score.cached and score.position % 2),
    ({"case": "12"}, lambda score: score.position in (24, 25)),
    ({"case": "3, 12", "candidate": "0"}, lambda score: score.position in (6, 24)),
    ({"min": "0.5", "max": "0.9"}, lambda score: score.value == 0.5),
    ({"error": "timeout", "q": "no ANSWER"}, lambda score: bool(score.error_class)),
    ({"q": "is 12 +"}, lambda score: score.position in (24, 25)),
]


@pytest.mark.postgresql("SQL: rows without a number, and rows with equal ones, in a stable order")
@table(*QUERIES)
def test_paging_shows_every_matching_trial_exactly_once_in_its_order(run, query, belongs):
    """What has no number comes last."""
    scores = {score.position: score for score in Score.objects.filter(run=run)}
    columns = {"score": "value", "latency": "latency_ms", "position": "position"}
    assert {f"{sign}{name}" for sign in ("", "-") for name in columns} <= set(SORTS)
    matching = {position for position, score in scores.items() if belongs(score)}
    assert matching
    for sort in SORTS:
        found = walk(run, sort=sort, **query)
        assert sorted(found) == sorted(matching), sort
        column = columns.get(sort.removeprefix("-"))
        values = [getattr(scores[position], column) for position in found] if column else []
        known = sorted((one for one in values if one is not None), reverse=sort.startswith("-"))
        assert values[: len(known)] == known, sort


@pytest.mark.postgresql("types: numbers that no column can hold, and the sign that ends a text")
def test_a_mangled_address_is_no_error(alice, run):
    client, address = client_of(alice), reverse("run_scores", args=[run.pk])
    for query in (
        *({"after": after} for after in ("x~y", "1e999~1", "1~" + "9" * 30)),
        {"before": "nan~1"},
        {"candidate": "9" * 30, "case": "9" * 30 + ",x,,-1"},
        {"min": "inf", "max": "nan"},
        {"sort": "answer", "status": "nope", "error": "nope"},
        {"q": "\x00\x00\x00abc"},
    ):
        given = QueryDict(urlencode(query))
        places = [Cursor.read(given.get(name, "")) for name in ("after", "before")]
        list_scores(run, read_trial_filters(given), *places)
    assert client.get(address, {"after": "x~y", "q": "\x00\x00\x00abc"}).status_code == 200
    short = client.get(address, {"q": "ab"})
    assert "at least 3 letters" in short.text
    assert short.context["total"] == 2 * CASES  # instead of reading everything


def test_errors_are_grouped_by_kind_with_advice_and_lead_to_their_trials(browser, run):
    page = browser.get(reverse("run_errors", args=[run.pk]))
    (group,) = page.context["groups"]
    assert group.count == run.scores.exclude(error_class="").count()
    assert "Raise Timeout, seconds (timeout_seconds)" in page.text
    (link,) = re.findall(r'href="(/runs/\d+/scores/\?error=[^"]+)"', page.text)
    assert browser.get(link.replace("&amp;", "&")).context["total"] == group.count


@table(
    ("No answer in 12.5 s.", "No answer in … s."),
    ("500: failed after 3 tries", "500: failed after … tries"),
    ("model 'a' and \"b\"", "model … and …"),
    ("request 3f2b8c1d-aaaa-bbbb-cccc-0123456789ab", "request …"),
    ("two\n lines", "two lines"),
)
def test_what_differs_between_equal_failures_is_left_out(message, told):
    assert normalise(message) == told


def test_trial_row_and_table_show_what_was_asked_and_what_became_of_it(alice, run):
    client, long = client_of(alice), "word " * 400
    score = run.scores.get(position=1)
    address = reverse("run_scores", args=[run.pk])
    usual = client.get(address)
    assert usual.context["shown"] == USUAL
    row = usual.text.split("<tbody")[1].split("</tr>")[1]  # trial 1: what is 0 + 1?
    for text in ("What is 0 + 1?", ">1</span>", ">4</span>", "is &#x27;4&#x27;"):
        assert text in row
    run.scores.filter(pk=score.pk).update(answer=long)
    opened = client.get(reverse("trial_row", args=[run.pk, 1]), {"status": "ok"}).text
    trial = client.get(reverse("trial", args=[run.pk, 1])).text
    for text in (long, "What is 0 + 1?", "is &#x27;4&#x27;"):
        assert text in opened
        assert text in trial
    assert "<html" not in opened
    assert f'href="{score.get_absolute_url()}?status=ok"' in opened
    assert "waited 1.0 ms, took 100 ms" in trial
    for name in ("trial", "trial_row"):  # one without a result does not exist
        assert client.get(reverse(name, args=[run.pk, 9999])).status_code == 404
    # Columns are those of the address, else remembered ones, else the usual ones.
    client.cookies["score_columns"] = "question.cost.nonsense"
    assert client.get(address).context["shown"] == ("cost",)
    chosen = client.get(address, {"show": ["question", "answer", "tokens", "<b>"]})
    assert chosen.context["shown"] == ("answer", "tokens")
    assert ("Tokens</th>" in chosen.text, "Expected</th>" in chosen.text) == (True, False)
    first = reverse("trial", args=[run.pk, 0])
    assert f'href="{first}?show=question&amp;show=answer&amp;show=tokens"' in chosen.text


def test_a_page_of_long_texts_is_small_with_no_query_a_row(alice, django_assert_max_num_queries):
    run = make_scored_run(alice, 26)
    Score.objects.filter(run=run).update(
        answer="An answer that goes on and on. " * 3000,
        details=[["exact", 1.0, True, "because it is so, and here is why. " * 20]],
    )
    long = "A question that takes a while to be read. " * 100
    Case.objects.update(fields={"question": long, "expected": long})
    client, every = client_of(alice), {"show": ["question", *COLUMNS]}
    with django_assert_max_num_queries(25):
        page = client.get(reverse("run_scores", args=[run.pk]), every)
    assert len(page.context["rows"]) == 50
    assert len(page.content) <= 150_000


def test_the_run_page_offers_files_that_hold_every_score(browser, run):
    page = browser.get(run.get_absolute_url()).text
    for form, head in (("csv", 1), ("jsonl", 0)):
        address = reverse(f"run_scores_{form}", args=[run.pk])
        assert f'href="{address}"' in page
        answer = browser.get(address)
        assert f'filename="run-{run.pk}-scores.{form}"' in answer["Content-Disposition"]
        assert len(answer.getvalue().decode().splitlines()) == 2 * CASES + head
        some = browser.get(address, {"status": "failed", "candidate": "0"}).getvalue().decode()
        assert len(some.splitlines()) == 3 + head


PAIRED, REPEATS = 10, 3


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
    dataset = make_dataset(alice, rows=PAIRED)
    document = run_document(dataset, repeats=REPEATS)
    planned = 2 * PAIRED * REPEATS
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


def rows_on_pages(run, **query):
    """Of every pair of a candidate and a case: which, and what became of its tries."""

    def rows(page, filters):
        return [(pair_of(row), row.fold) for row in folded_rows(run, page.scores, filters)]

    return there_and_back(run, query, list_folded, rows)


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
    expected, found = {}, defaultdict(list)
    for score in run.scores.select_related("candidate", "case").order_by("position"):
        found[score.candidate.position, score.case.position].append(score)
    for pair, tries in found.items():
        is_wanted = "candidate" not in query or pair[0] == int(query["candidate"])
        if is_wanted and (matching := sum(belongs(score) for score in tries)):
            values = [score.value for score in tries if score.value is not None]
            mean = pytest.approx(fmean(values)) if values else None
            expected[pair] = (matching, len(tries), values.count(1.0), mean)
    return expected


@pytest.mark.postgresql("SQL: means of several tries, grouped, filtered and in a stable order")
@table(*FOLDED)
def test_every_pair_with_a_try_that_matches_is_one_row_in_its_order(any_run, query, belongs):
    columns = {"score": "value", "latency": "latency_ms"}
    expected = expected_folds(any_run, query, belongs)
    for sign, word in product(("", "-"), ("position", *columns)):
        rows = rows_on_pages(any_run, sort=sign + word, **query)
        found = {pair: (fold.matching, fold.tries, fold.passes, fold.value) for pair, fold in rows}
        assert (found, len(rows)) == (expected, len(expected)), sign + word
        shown = [getattr(fold, columns[word]) for _, fold in rows] if word in columns else []
        known = sorted((value for value in shown if value is not None), reverse=sign == "-")
        assert shown[: len(known)] == known, sign + word


def test_the_page_says_how_many_were_right_opens_tries_and_leads_on(alice, repeated_run):
    run, client = repeated_run, client_of(alice)
    address = reverse("run_scores", args=[run.pk])
    text = " ".join(client.get(address, {"case": "0"}).text.split())
    assert '2 of 2 right</span></a> <span class="chip chip-warn">1 failed</span>' in text
    assert "Repeats are folded." in text
    assert 'href="?candidate=0&amp;case=0&amp;each=1"' in text
    opened = client.get(reverse("tries_row", args=[run.pk, 0, 0])).text
    for position in (0, 20, 40):
        assert reverse("trial", args=[run.pk, position]) in opened
    each = client.get(address, {"case": "0", "each": "1"})
    assert [row.score.position for row in each.context["rows"]] == [0, 1, 20, 21, 40, 41]
    assert 'name="each" value="1"' in each.text
    query = {"min": "0.5", "sort": "-latency"}
    answer = client.get(address, query)
    pairs = [pair_of(row) for row in answer.context["rows"]]
    while following := answer.context["page"].next:
        answer = client.get(address, {**query, "after": str(following)})
        pairs += [pair_of(row) for row in answer.context["rows"]]
    assert pairs == [pair for pair, _ in rows_on_pages(run, **query)]


def test_without_repeats_nothing_is_folded_and_before_the_first_score_pages_open(alice):
    dataset, client = make_dataset(alice, rows=1), client_of(alice)
    run = make_run(alice, dataset)
    new_score(run, dataset.cases.get(), run.candidates.get(), 0).save()
    answer = client.get(reverse("run_scores", args=[run.pk]))
    assert [row.fold for row in answer.context["rows"]] == [None]
    assert "folded" not in answer.text
    waits = {"state": RunState.QUEUED, "started": None, "ended": None}
    queued = make_run(alice, dataset, document=run_document(dataset, repeats=REPEATS), **waits)
    for view in ("run", "run_pictures", "run_scores"):
        assert client.get(reverse(view, args=[queued.pk])).status_code == 200, view


def test_a_kept_order_is_left_when_a_score_changes(repeated_run):
    """Of a run that has ended the places of rows are kept: not beyond a rerun in place."""
    run = repeated_run
    first, _ = rows_on_pages(run, sort="-score", candidate="0")[0]
    wrong = run.scores.filter(candidate__position=first[0], case__position=first[1])
    wrong.update(value=0.0, passed=False, error_class="", error_message="")
    Run.objects.filter(pk=run.pk).update(version=run.version + 1, value_sum=1.0)
    run.refresh_from_db()
    assert rows_on_pages(run, sort="-score", candidate="0")[0][0] != first
