"""The scores table, the errors and the trial page of a run."""

import re
from itertools import pairwise
from typing import Any

import pytest
from django.urls import reverse

from runs.models import Score
from runs.selectors.errors import normalise
from runs.selectors.trials import SORTS
from tests.runs.page_parts import (
    add_candidate,
    client_of,
    make_dataset,
    make_person,
    make_run,
    new_score,
)

pytestmark = pytest.mark.django_db

CASES = 65


@pytest.fixture
def alice():
    return make_person("alice")


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


def test_a_trial_without_a_result_does_not_exist(alice, run):
    assert client_of(alice).get(reverse("trial", args=[run.pk, 9999])).status_code == 404
