"""The table of scores: every trial once, page by page, and filters that live in the address."""

import re
import zlib

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import DEMO_TRIALS
from tests.e2e.run_page import faults_of

pytestmark = pytest.mark.late

POSITIONS = """
    SELECT score.position FROM runs_score AS score
    JOIN runs_candidate AS candidate ON candidate.id = score.candidate_id
    WHERE score.run_id = :run AND candidate.position = :candidate ORDER BY score.position
"""


RECORD = """
    INSERT INTO runs_scorerecord (score_id, run_id, size, packed)
    SELECT id, run_id, :size, :it FROM runs_score WHERE run_id = :run AND position = :at
"""


def positions(page):
    cells = page.locator("[data-rows] tr td:first-child").all_inner_texts()
    return [int(cell) for cell in cells]


def test_every_trial_is_on_one_page_and_a_filter_in_the_address(page, witness, site, demo):
    page.goto(f"/runs/{demo}/scores/?candidate=2")
    first = positions(page)
    page.get_by_role("link", name="Next").click()
    page.get_by_role("link", name="Previous").wait_for()
    last = positions(page)
    expect(page.get_by_role("link", name="Next")).to_have_count(0)
    expected = site.database.rows(POSITIONS, run=demo, candidate=2)
    assert [(position,) for position in first + last] == expected
    page.get_by_role("link", name="Previous").click()
    page.get_by_role("link", name="Next").wait_for()
    assert positions(page) == first
    page.goto(f"/runs/{demo}/scores/")
    page.get_by_role("combobox", name="Result").select_option("wrong")
    page.wait_for_url("**/scores/*status=wrong*")
    wrong = site.database.rows(
        "SELECT count(*) FROM runs_score WHERE run_id = :run AND NOT passed", run=demo
    )[0][0]
    expect(page.locator(".pager")).to_contain_text(f"{wrong} match")
    page.get_by_role("link", name="Clear").click()
    expect(page.locator(".pager")).to_contain_text(f"{DEMO_TRIALS} finished")


def test_a_row_opens_in_place_and_columns_are_remembered(page, witness, site, demo):
    page.goto(f"/runs/{demo}/scores/?status=correct")
    toggle = page.locator("[data-open]").nth(1)
    toggle.focus()
    page.keyboard.press("Enter")
    below = page.locator("[data-rows] > tr").nth(2)
    expect(below.get_by_role("heading", name="What the scorers said")).to_be_visible()
    expect(toggle).to_have_attribute("aria-expanded", "true")
    expect(below.get_by_role("link", name="Open the trial's page")).to_have_attribute(
        "href", re.compile(r"/trials/\d+/\?status=correct")
    )
    links = page.locator("[data-rows] a.primary")
    below.get_by_role("link", name="Open the trial's page").focus()
    page.keyboard.press("j")  # from what is open on to the next row, and back over it
    expect(links.nth(2)).to_be_focused()
    page.keyboard.press("k")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("o")
    expect(below).to_be_hidden()
    page.keyboard.press("o")
    expect(below).to_be_visible()
    assert faults_of(page) == []
    page.get_by_role("checkbox", name="Choose trial").nth(0).check()
    page.get_by_role("checkbox", name="Choose trial").nth(1).check()
    page.get_by_role("button", name="Rerun 2 chosen").click()
    expect(page.get_by_role("heading", name="Rerun 2 chosen trials")).to_be_visible()
    assert faults_of(page) == []
    page.goto(f"/runs/{demo}/scores/?status=correct")
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("Cost").check()
    page.wait_for_url("**/scores/*show=cost*")
    expect(page.get_by_label("Cost")).to_be_focused()
    page.get_by_role("checkbox", name="Candidate").uncheck()
    expect(page.get_by_role("columnheader", name="Candidate")).to_have_count(0)
    page.goto(f"/runs/{demo}/scores/")
    expect(page.get_by_role("columnheader", name="Cost")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Candidate")).to_have_count(0)
    page.context.clear_cookies(name="score_columns")


def test_a_record_is_loaded_when_it_is_asked_for_and_stays_text(page, witness, site, demo):
    record = b'{"steps": ["<img src=x onerror=alert(1)>"]}'
    kept = {"size": len(record), "it": zlib.compress(record)}  # as a kind that keeps records would
    site.database.change(RECORD, run=demo, at=0, **kept)
    page.goto(f"/runs/{demo}/trials/0/")
    expect(page.locator("#record")).to_be_hidden()
    page.get_by_role("link", name="Show it").click()
    expect(page.locator("#record")).to_contain_text('"<img src=x onerror=alert(1)>"')
    expect(page.locator("#record")).to_be_focused()
    assert faults_of(page) == []
    assert witness.dialogs == []
