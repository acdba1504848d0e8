"""The runs list: counters that lead to what they count, pages, and a fixed number of queries."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.timezone import now

from runs.models import Run, RunState
from tests.runs.page_parts import client_of, make_dataset, make_person, make_run

pytestmark = pytest.mark.django_db

MOST_QUERIES = 8


@pytest.fixture
def alice():
    return make_person("alice")


def ids_on(page: str) -> list[int]:
    return [int(number) for number in re.findall(r'class="primary" href="/runs/(\d+)/"', page)]


def test_a_first_visit_offers_the_demo_as_the_one_filled_button(alice):
    page = client_of(alice).get(reverse("runs")).content.decode()
    assert "No runs yet" in page
    assert page.count("button-primary") == 1
    assert re.search(r"button-primary[^>]*>.*Run the demo", page, re.DOTALL)


def test_the_demo_stays_reachable_when_there_are_runs(alice):
    make_run(alice, make_dataset(alice))
    page = client_of(alice).get(reverse("runs")).content.decode()
    assert "Run the demo" in page
    assert "No runs yet" not in page


def test_the_number_of_queries_does_not_grow_with_the_runs(alice):
    dataset, client = make_dataset(alice), client_of(alice)

    def queries_with(runs: int) -> int:
        while Run.objects.count() < runs:
            make_run(alice, dataset)
        client.get(reverse("runs"))  # the first visit stores the session
        with CaptureQueriesContext(connection) as captured:
            assert client.get(reverse("runs")).status_code == 200
        return len(captured)

    assert queries_with(3) == queries_with(45) <= MOST_QUERIES


def test_each_counter_leads_to_the_runs_it_counts(alice):
    dataset, client = make_dataset(alice), client_of(alice)
    for state in RunState:
        make_run(alice, dataset, state=state, ended=None if state in RunState.live() else now())
    make_run(alice, dataset, state=RunState.COMPLETED, ended=now() - timedelta(days=2))
    counters = client.get(reverse("runs")).context["counters"]
    for name in ("running", "queued", "attention", "today"):
        page = client.get(reverse("runs"), {"state": name}).content.decode()
        assert len(ids_on(page)) == getattr(counters, name) > 0, name


def test_paging_there_and_back_shows_every_run_once(alice):
    dataset, client = make_dataset(alice), client_of(alice)
    made = [make_run(alice, dataset).pk for _ in range(120)]
    address, pages = reverse("runs"), []
    while address:
        page = client.get(address)
        pages.append((ids_on(page.content.decode()), page.context["page"].newer))
        older = page.context["page"].older
        address = f"{reverse('runs')}?before={older}" if older else ""
    assert [number for numbers, _ in pages for number in numbers] == made[::-1]
    back = client.get(reverse("runs"), {"after": pages[-1][1]})
    assert ids_on(back.content.decode()) == pages[-2][0]


def test_filters_are_in_the_address_and_combine(alice):
    dataset, client = make_dataset(alice), client_of(alice)
    wanted = make_run(alice, dataset, name="Needle", state=RunState.FAILED)
    make_run(alice, dataset, name="needle", state=RunState.COMPLETED)
    make_run(alice, dataset, name="hay", state=RunState.FAILED)
    page = client.get(reverse("runs"), {"q": "NEEDLE", "state": "failed", "kind": "evaluate"})
    assert ids_on(page.content.decode()) == [wanted.pk]


@pytest.mark.parametrize(
    "query",
    [
        {"state": "nonsense"},
        {"before": "x"},
        {"before": "9" * 40},
        {"after": "-1"},
        {"kind": "'; drop"},
        {"q": "\x00"},
        {"q": "%"},
    ],
)
def test_a_mangled_address_is_no_error(alice, query):
    make_run(alice, make_dataset(alice))
    assert client_of(alice).get(reverse("runs"), query).status_code == 200


def test_a_filter_that_finds_nothing_offers_to_clear_it(alice):
    make_run(alice, make_dataset(alice))
    page = client_of(alice).get(reverse("runs"), {"q": "no such run"}).content.decode()
    assert "No runs match" in page
    assert "Clear the filters" in page
