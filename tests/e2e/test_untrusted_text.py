"""Untrusted text stays text: names, rows, prompts, answers and errors full of markup do nothing."""

import json

import pytest
from playwright.sync_api import expect

from tests.e2e.run_page import document, launch, run_number, wait_until_final
from tests.runs.test_pages_hostile import ELSEWHERE
from tests.runs.test_pages_hostile import PLAIN_PAYLOADS as PAYLOADS

pytestmark = pytest.mark.late

NAME = '"><img src=x onerror=alert(1)></title><script>alert(1)</script>'
TEXTS = [*PAYLOADS, "\n".join(PAYLOADS)]  # the last case holds all of them
FAILING = 5  # every fifth call is refused, with the payload as the provider's message
LOOKED_AT = 6  # every sixth trial is opened: the whole corpus is in the last one


def question(number):
    return f"case {number:02d}: {TEXTS[number]}"


def script():
    """The provider says each payload back: as its answer, or as its reason to refuse."""
    return [
        {"match": {"contains": f"case {number:02d}:"}, "times": None, **reply(number)}
        for number in range(len(TEXTS))
    ]


def reply(number):
    payload = f"said {number:02d}: {TEXTS[number]}"
    if number % FAILING == 0:
        return {"do": "status", "status": 400, "message": payload}
    return {"do": "answer", "answer": payload}


@pytest.fixture
def hostile(page, witness, site, demo):
    """A finished run in which every text that a stranger can choose is a payload."""
    rows = [
        {"question": question(number), "expected": text, NAME[:60]: text}
        for number, text in enumerate(TEXTS)
    ]
    page.goto("/datasets/import/")
    page.get_by_label("Name").fill(NAME)
    page.get_by_label("Or paste the rows").fill("\n".join(map(json.dumps, rows)))
    expect(page.get_by_role("table", name="Preview of the rows")).to_contain_text(question(0))
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{NAME} v1")
    site.simulator.play(*script())
    site.simulator.change(latency_ms=1)
    prompts = [{"name": NAME, "system": PAYLOADS[0], "user": "{{question}}"}]
    launch(page, document(NAME, dataset=NAME, prompts=prompts, scorers=["exact"]))
    wait_until_final(page)
    site.simulator.play()
    return run_number(page)


def test_markup_in_every_text_is_shown_as_text_and_does_nothing(page, witness, hostile):
    run = f"/runs/{hostile}/"
    for path in ("/runs/", run, f"{run}events/", f"{run}errors/", f"{run}configuration/"):
        page.goto(path)
    for path in ("/datasets/", f"/runs/new/?run={hostile}", f"/runs/?q={NAME}"):
        page.goto(path)
    assert_scores_are_text(page, run)
    assert_trials_are_text(page, run)
    assert witness.dialogs == []
    assert ELSEWHERE not in " ".join(witness.navigations)
    # No script ran, nothing was fetched from elsewhere, the policy was not even asked: the
    # witness fails the story on any of them.


def assert_scores_are_text(page, run):
    page.goto(f"{run}scores/")
    table = page.get_by_role("table")
    shown = table.inner_text()
    page.get_by_role("link", name="Next").click()
    page.get_by_role("link", name="Previous").wait_for()
    shown += table.inner_text()
    missing = [text for text in map(squeezed, PAYLOADS) if text not in squeezed(shown)]
    assert missing == []


def assert_trials_are_text(page, run):
    last = len(TEXTS) - 1
    assert last % FAILING, "the whole corpus must be an answer: messages of errors are cut"
    for number in [*range(0, last, LOOKED_AT), last]:
        page.goto(f"{run}trials/{number}/")
        shown = squeezed(page.get_by_role("main").inner_text())
        assert squeezed(f"case {number:02d}: {TEXTS[number]}") in shown
        assert squeezed(f"said {number:02d}: {TEXTS[number]}") in shown
    for view in ("markdown", "json"):
        page.goto(f"{run}trials/{last}/?view={view}")
        assert page.locator("main img, main iframe, main form[action*=evil]").count() == 0


def squeezed(text):
    """Without white space: a table writes a line break as a space."""
    return "".join(text.split())
