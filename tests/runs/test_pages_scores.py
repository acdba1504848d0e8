"""The scores table, the errors and the trial page of a run."""

import re
from itertools import pairwise, product
from typing import Any

import pytest
from django.http import QueryDict
from django.urls import reverse
from django.utils.http import urlencode

from runs.forms.filters import read_trial_filters
from runs.models import Case, Score
from runs.selectors.runs.errors import normalise
from runs.selectors.scores import trials
from runs.selectors.scores.table import COLUMNS, USUAL
from runs.selectors.scores.trials import SORTS, Cursor, list_scores
from tests.harness.factories import (
    add_candidate,
    client_of,
    make_dataset,
    make_run,
    new_score,
)

pytestmark = pytest.mark.django_db

CASES = 13
PAGE_SIZE = 8  # so that few rows make several pages


@pytest.fixture
def run(alice):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials, "PAGE_SIZE", PAGE_SIZE)
        yield make_scored_run(alice, CASES)


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


def walk(run, **query):
    """Every trial position, page by page, forwards; then the same backwards must agree."""
    filters, pages = read_trial_filters(QueryDict(urlencode(query))), []
    page = list_scores(run, filters)
    while True:
        pages.append([score.position for score in page.scores])
        if page.next is None:
            break
        page = list_scores(run, filters, after=Cursor.read(str(page.next)))
    for expected in reversed(pages[:-1]):
        page = list_scores(run, filters, before=Cursor.read(str(page.previous)))
        assert [score.position for score in page.scores] == expected
    assert page.previous is None or len(pages) > 1
    return [position for page in pages for position in page]


def test_the_page_and_trials_lead_there_and_back_through_what_an_address_asks_for(alice, run):
    query = {"status": "ok", "sort": "-score"}
    order = walk(run, **query)
    client, address = client_of(alice), reverse("run_scores", args=[run.pk])
    page = client.get(address, query).context["page"]
    first = [score.position for score in page.scores]
    page = client.get(address, {**query, "after": str(page.next)}).context["page"]
    assert first + [score.position for score in page.scores] == order[: 2 * PAGE_SIZE]
    back = client.get(address, {**query, "before": str(page.previous)}).context["page"]
    assert [score.position for score in back.scores] == first
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
def test_paging_shows_every_matching_trial_exactly_once_in_its_order(run):
    """What has no number comes last."""
    wrong = []
    scores = {score.position: score for score in Score.objects.filter(run=run)}
    columns = {"score": "value", "latency": "latency_ms", "position": "position"}
    for (query, belongs), sort in product(QUERIES, SORTS):
        matching = [position for position, score in scores.items() if belongs(score)]
        found = walk(run, sort=sort, **query)
        if not matching or sorted(found) != sorted(matching):
            wrong.append(f"{query} by {sort}: {found}, expected {matching}")
        column = columns.get(sort.removeprefix("-"))
        values = [getattr(scores[position], column) for position in found] if column else []
        known = [value for value in values if value is not None]
        step = -1 if sort.startswith("-") else 1
        in_order = all(step * first <= step * second for first, second in pairwise(known))
        if values[: len(known)] != known or not in_order:
            wrong.append(f"{query} by {sort}: {values}")
    assert wrong == []
    assert {f"{sign}{name}" for sign in ("", "-") for name in columns} <= set(SORTS)


@pytest.mark.postgresql("types: numbers that no column can hold, and the sign that ends a text")
def test_a_mangled_address_is_no_error(alice, run):
    client, address = client_of(alice), reverse("run_scores", args=[run.pk])
    queries = [
        {"after": "x~y"},
        {"after": "1e999~1"},
        {"before": "nan~1"},
        {"after": "1~" + "9" * 30},
        {"candidate": "9" * 30},
        {"case": "9" * 30 + ",x,,-1"},
        {"min": "inf", "max": "nan"},
        {"sort": "answer"},
        {"status": "nope", "error": "nope"},
        {"q": "\x00\x00\x00abc"},
    ]
    for query in queries:
        given = QueryDict(urlencode(query))
        places = [Cursor.read(given.get(name, "")) for name in ("after", "before")]
        list_scores(run, read_trial_filters(given), *places)
    assert client.get(address, {"after": "x~y", "q": "\x00\x00\x00abc"}).status_code == 200
    short = client.get(address, {"q": "ab"})
    assert "at least 3 letters" in short.content.decode()
    assert short.context["total"] == 2 * CASES  # instead of reading everything


def test_errors_are_grouped_by_kind_with_advice_and_lead_to_their_trials(alice, run):
    client = client_of(alice)
    page = client.get(reverse("run_errors", args=[run.pk]))
    (group,) = page.context["groups"]
    assert group.count == run.scores.exclude(error_class="").count()
    assert "Raise Timeout, seconds (timeout_seconds)" in page.content.decode()
    (link,) = re.findall(r'href="(/runs/\d+/scores/\?error=[^"]+)"', page.content.decode())
    answer = client.get(link.replace("&amp;", "&"))
    assert answer.context["total"] == group.count


NORMAL = {
    "No answer in 12.5 s.": "No answer in … s.",
    "500: failed after 3 tries": "500: failed after … tries",
    "model 'a' and \"b\"": "model … and …",
    "request 3f2b8c1d-aaaa-bbbb-cccc-0123456789ab": "request …",
    "two\n lines": "two lines",
}


def test_what_differs_between_equal_failures_is_left_out():
    assert {message: normalise(message) for message in NORMAL} == NORMAL


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
    for page in (opened, trial):
        for text in (long, "What is 0 + 1?", "is &#x27;4&#x27;"):
            assert text in page
    assert "<html" not in opened
    assert f'href="{score.get_absolute_url()}?status=ok"' in opened
    assert "waited 1.0 ms, took 100 ms" in trial
    for name in ("trial", "trial_row"):  # one without a result does not exist
        assert client.get(reverse(name, args=[run.pk, 9999])).status_code == 404
    # Columns are those of the address, else remembered ones, else the usual ones.
    client.cookies["score_columns"] = "question.cost.nonsense"
    assert client.get(address).context["shown"] == ("cost",)
    page = client.get(address, {"show": ["question", "answer", "tokens", "<b>"]})
    assert page.context["shown"] == ("answer", "tokens")
    assert "Tokens</th>" in page.text
    assert "Expected</th>" not in page.text
    first = reverse("trial", args=[run.pk, 0])
    assert f'href="{first}?show=question&amp;show=answer&amp;show=tokens"' in page.text


def test_a_page_of_long_texts_stays_small_and_needs_no_query_a_row(
    alice, django_assert_max_num_queries
):
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


def test_the_run_page_offers_files_that_hold_every_score(alice, run):
    client = client_of(alice)
    page = client.get(run.get_absolute_url()).text
    for form, head in (("csv", 1), ("jsonl", 0)):
        address = reverse(f"run_scores_{form}", args=[run.pk])
        assert f'href="{address}"' in page
        answer = client.get(address)
        assert f'filename="run-{run.pk}-scores.{form}"' in answer["Content-Disposition"]
        assert len(answer.getvalue().decode().splitlines()) == 2 * CASES + head
        some = client.get(address, {"status": "failed", "candidate": "0"}).getvalue().decode()
        assert len(some.splitlines()) == 3 + head
