"""Pages that compute their answer do so only so often for one person."""

from itertools import cycle, islice
from typing import Any

import pytest
from django.utils.timezone import now

from tests.harness.factories import client_of, make_dataset, make_endpoint, make_person

pytestmark = pytest.mark.django_db

LIMIT = 3
SENTENCE = "More than 3 requests a minute. Wait "
YAML = """name: mine
dataset: sums
prompts: [{name: a, user: "{{question}}"}]
models: [simulated/sim-small]
scorers: [exact]
"""
FORMS: dict[str, dict[str, str]] = {
    "/runs/estimate/": {"mode": "yaml", "yaml": YAML},
    "/runs/dry/": {"mode": "yaml"},
    "/runs/new/": {"mode": "yaml", "yaml": YAML},
    "/datasets/import/": {"name": "new", "text": "question\n1 + 1?\n", "step": "import"},
    "/datasets/promptfoo/": {"text": "prompts: [a]", "step": "look"},
    "/prompts/new/": {"prompt-name": "a"},
}


@pytest.fixture(autouse=True)
def low_limit(settings: Any, time_machine: Any) -> None:
    """In a minute that does not end."""
    time_machine.move_to(now(), tick=False)
    settings.WORK_REQUESTS_PER_MINUTE = LIMIT


def refused_by(browser: Any, address: str, **headers: str) -> Any:
    """The first refusal. Where Redis is too slow to be asked, the process lets in as many again."""
    for _ in range(2 * LIMIT + 1):
        answer = browser.post(address, FORMS.get(address, {}), headers=headers)
        if answer.status_code == 429:
            return answer
        assert answer.status_code in {200, 302, 400}
    raise AssertionError(f"{address} is not limited")


@pytest.mark.parametrize("address", FORMS)
def test_too_many_in_a_minute_are_told_to_wait(address):
    alice = make_person("alice")
    make_endpoint()
    make_dataset(alice)
    browser = client_of(alice)
    refused = refused_by(browser, address)
    assert SENTENCE in refused.content.decode()
    assert 1 <= int(refused["Retry-After"]) <= 60
    assert browser.get("/runs/new/").status_code == 200
    assert client_of(make_person("bob")).post(address, FORMS[address]).status_code != 429


def test_all_of_them_count_together():
    browser = client_of(make_person("alice"))
    addresses = islice(cycle(FORMS), 2 * LIMIT + 1)  # at most LIMIT of each
    answers = [browser.post(address, FORMS[address]).status_code for address in addresses]
    assert 429 in answers


def test_a_script_gets_the_sentence_alone():
    operator = make_person("ada", staff=True)
    address = f"/endpoints/{make_endpoint().pk}/test/"
    preview = refused_by(client_of(operator), "/datasets/import/", **{"X-Part": "preview"})
    assert SENTENCE in preview.content.decode()
    assert b"<html" not in preview.content
    report = refused_by(client_of(operator), address, **{"X-Part": "report"})
    assert report.content.decode().startswith(SENTENCE)


@pytest.mark.parametrize("page", ["report", "changes"])
def test_reading_every_row_for_a_page_counts_too(page):
    alice = make_person("alice")
    address = f"/datasets/{make_dataset(alice).pk}/{page}/"
    browser = client_of(alice)
    answers = [browser.get(address).status_code for _ in range(2 * LIMIT + 1)]
    assert {200, 429} == set(answers)
