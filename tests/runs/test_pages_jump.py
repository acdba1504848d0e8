"""The jump box: finds what a person may see, by name or number."""

import re

import pytest
from django.urls import reverse

from tests.harness.factories import client_of, make_dataset, make_endpoint, make_person, make_run
from tests.runs.test_pages_hostile import PAYLOADS, foreign_markup

pytestmark = pytest.mark.django_db


def found(person, text: str) -> list[str]:
    answer = client_of(person).get(reverse("jump"), {"q": text})
    assert answer.status_code == 200
    return re.findall(r'href="([^"]+)"', answer.content.decode())


def test_everything_is_found_by_a_part_of_its_name(alice):
    dataset, endpoint = make_dataset(alice, "Great sums"), make_endpoint("greater")
    run = make_run(alice, dataset, name="the GREAT run")
    places = [item.get_absolute_url() for item in (run, dataset, endpoint)]
    assert found(alice, "great") == places
    assert found(alice, "BENCH") == [reverse("benchmarks")]
    assert found(alice, "nowhere") == []
    assert set(places) < set(found(alice, ""))


def test_a_run_is_found_by_its_number(alice):
    run = make_run(alice, make_dataset(alice))
    assert found(alice, f"#{run.pk}") == found(alice, str(run.pk)) == [run.get_absolute_url()]


def test_only_the_newest_version_of_a_dataset_is_listed(alice):
    make_dataset(alice, rows=2)
    newest = make_dataset(alice, rows=3)
    assert found(alice, "sums") == [newest.get_absolute_url()]


def test_runs_of_others_are_not_found(alice):
    run = make_run(alice, make_dataset(alice, "d"), name="secret")
    bob = make_person("bob")
    assert found(bob, "secret") == found(bob, str(run.pk)) == []


@pytest.mark.parametrize("text", ["\x00", "#", "9" * 40, "%", "²", *PAYLOADS])
def test_strange_text_is_only_text(alice, text):
    make_run(alice, make_dataset(alice), name=text[:100].replace("\x00", "") or "x")
    page = client_of(alice).get(reverse("jump"), {"q": text}).content.decode()
    assert foreign_markup(page) == []
