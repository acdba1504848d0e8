"""The scores table, the errors and the trial page of a run."""

import re
from itertools import pairwise
from typing import Any

import pytest
from django.urls import reverse

from runs.models import Case, Score
from runs.selectors.runs.errors import normalise
from runs.selectors.scores.table import COLUMNS, USUAL
from runs.selectors.scores.trials import SORTS
from tests.harness.factories import (
    add_candidate,
    client_of,
    make_dataset,
    make_run,
    new_score,
)

pytestmark = pytest.mark.django_db

CASES = 65


@pytest.fixture
def run(alice):
    """130 scores: every 5th failed, every 7th cached, many with the same score and latency."""
    dataset = make_dataset(alice, rows=CASES)
    run = make_run(alice, dataset, planned=2 * CASES)
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


def walk(client, run, **query):
    """Every trial position, page by page, forwards; then the same backwards must agree."""
    address, pages = reverse("run_scores", args=[run.pk]), []
    answer = client.get(address, query)
    while True:
        page = answer.context["page"]
        pages.append([score.position for score in page.scores])
        if page.next is None:
            break
        answer = client.get(address, {**query, "after": str(page.next)})
    for expected in reversed(pages[:-1]):
        answer = client.get(address, {**query, "before": str(answer.context["page"].previous)})
        assert [score.position for score in answer.context["page"].scores] == expected
    assert answer.context["page"].previous is None or len(pages) > 1
    return [position for page in pages for position in page]


@pytest.mark.parametrize(
    ("query", "belongs"),
    [
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
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_paging_shows_every_matching_trial_exactly_once(alice, run, query, belongs):
    matching = [score.position for score in Score.objects.filter(run=run) if belongs(score)]
    assert matching
    for sort in SORTS:
        assert sorted(walk(client_of(alice), run, sort=sort, **query)) == matching, sort


@pytest.mark.parametrize(
    ("sort", "column"), [("score", "value"), ("latency", "latency_ms"), ("position", "position")]
)
def test_rows_are_sorted_and_those_without_a_number_come_last(alice, run, sort, column):
    for sign, step in (("", 1), ("-", -1)):
        found = walk(client_of(alice), run, sort=sign + sort)
        by_position = {score.position: getattr(score, column) for score in run.scores.all()}
        values = [by_position[position] for position in found]
        known = [value for value in values if value is not None]
        assert values[: len(known)] == known
        assert all(step * first <= step * second for first, second in pairwise(known))


def test_previous_and_next_follow_the_filter_one_came_from(alice, run):
    client, query = client_of(alice), {"status": "failed", "candidate": "0", "sort": "-position"}
    order = walk(client, run, **query)
    position, seen = order[0], []
    while position is not None:
        answer = client.get(reverse("trial", args=[run.pk, position]), query)
        seen.append(position)
        following = answer.context["neighbours"].next
        position = following.position if following else None
    assert seen == order
    assert answer.context["neighbours"].previous.position == order[-2]


def test_a_short_search_says_so_instead_of_reading_everything(alice, run):
    answer = client_of(alice).get(reverse("run_scores", args=[run.pk]), {"q": "ab"})
    assert "at least 3 letters" in answer.content.decode()
    assert answer.context["total"] == 2 * CASES


@pytest.mark.parametrize(
    "query",
    [
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
    ],
    ids=str,
)
def test_a_mangled_address_is_no_error(alice, run, query):
    assert client_of(alice).get(reverse("run_scores", args=[run.pk]), query).status_code == 200


def test_errors_are_grouped_by_kind_with_advice_and_lead_to_their_trials(alice, run):
    client = client_of(alice)
    page = client.get(reverse("run_errors", args=[run.pk]))
    (group,) = page.context["groups"]
    assert group.count == run.scores.exclude(error_class="").count()
    assert "Raise Timeout, seconds (timeout_seconds)" in page.content.decode()
    (link,) = re.findall(r'href="(/runs/\d+/scores/\?error=[^"]+)"', page.content.decode())
    answer = client.get(link.replace("&amp;", "&"))
    assert answer.context["total"] == group.count


@pytest.mark.parametrize(
    ("message", "normal"),
    [
        ("No answer in 12.5 s.", "No answer in … s."),
        ("500: failed after 3 tries", "500: failed after … tries"),
        ("model 'a' and \"b\"", "model … and …"),
        ("request 3f2b8c1d-aaaa-bbbb-cccc-0123456789ab", "request …"),
        ("two\n lines", "two lines"),
    ],
)
def test_what_differs_between_equal_failures_is_left_out(message, normal):
    assert normalise(message) == normal


def test_a_trial_shows_what_was_asked_and_what_became_of_it(alice, run):
    page = client_of(alice).get(reverse("trial", args=[run.pk, 1])).content.decode()
    assert "What is 0 + 1?" in page
    assert "is &#x27;4&#x27;" in page
    assert "waited 1.0 ms, took 100 ms" in page


@pytest.mark.parametrize("name", ["trial", "trial_row"])
def test_a_trial_without_a_result_does_not_exist(alice, run, name):
    assert client_of(alice).get(reverse(name, args=[run.pk, 9999])).status_code == 404


def test_the_table_shows_what_was_expected_and_what_the_scorer_found(alice, run):
    page = client_of(alice).get(reverse("run_scores", args=[run.pk])).content.decode()
    row = page.split("<tbody")[1].split("</tr>")[1]  # trial 1: what is 0 + 1?
    for text in ("What is 0 + 1?", ">1</span>", ">4</span>", "is &#x27;4&#x27;"):
        assert text in row


def test_columns_are_those_of_the_address_else_remembered_else_the_usual_ones(alice, run):
    client, address = client_of(alice), reverse("run_scores", args=[run.pk])
    assert client.get(address).context["shown"] == USUAL
    client.cookies["score_columns"] = "question.cost.nonsense"
    assert client.get(address).context["shown"] == ("cost",)
    page = client.get(address, {"show": ["question", "answer", "tokens", "<b>"]})
    assert page.context["shown"] == ("answer", "tokens")
    text = page.content.decode()
    assert "Tokens</th>" in text
    assert "Expected</th>" not in text
    trial = reverse("trial", args=[run.pk, 0])
    assert f'href="{trial}?show=question&amp;show=answer&amp;show=tokens"' in text


def test_a_row_opens_with_the_whole_texts_and_leads_to_the_trial(alice, run):
    long = "word " * 400
    score = run.scores.get(position=1)
    run.scores.filter(pk=score.pk).update(answer=long)
    page = client_of(alice).get(reverse("trial_row", args=[run.pk, 1]), {"status": "ok"})
    text = page.content.decode()
    assert "<html" not in text
    assert long in text
    assert "What is 0 + 1?" in text
    assert "is &#x27;4&#x27;" in text
    assert f'href="{score.get_absolute_url()}?status=ok"' in text


def test_a_page_of_long_texts_stays_small_and_needs_no_query_a_row(
    alice, run, django_assert_max_num_queries
):
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


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_the_run_page_offers_files_that_hold_every_score(alice, run, form):
    client = client_of(alice)
    address = reverse(f"run_scores_{form}", args=[run.pk])
    assert f'href="{address}"' in client.get(run.get_absolute_url()).content.decode()
    answer = client.get(address)
    assert f'filename="run-{run.pk}-scores.{form}"' in answer["Content-Disposition"]
    lines = answer.getvalue().decode().splitlines()
    assert len(lines) == 2 * CASES + (form == "csv")
    some = client.get(address, {"status": "failed", "candidate": "0"}).getvalue().decode()
    assert len(some.splitlines()) == 13 + (form == "csv")
