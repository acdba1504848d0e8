"""The table of scores: every trial once, page by page, and filters that live in the address."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.first_minute import DEMO_TRIALS

pytestmark = pytest.mark.late

POSITIONS = """
    SELECT score.position FROM runs_score AS score
    JOIN runs_candidate AS candidate ON candidate.id = score.candidate_id
    WHERE score.run_id = :run AND candidate.position = :candidate ORDER BY score.position
"""


def positions(page: Page) -> list[int]:
    cells = page.locator("[data-rows] tr td:first-child").all_inner_texts()
    return [int(cell) for cell in cells]


def test_every_trial_of_a_candidate_is_on_exactly_one_page(page, witness, site, demo):
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


def test_a_filter_goes_into_the_address_and_can_be_cleared(page, witness, site, demo):
    page.goto(f"/runs/{demo}/scores/")
    page.get_by_label("Result").select_option("wrong")
    page.wait_for_url("**/scores/*status=wrong*")
    wrong = site.database.rows(
        "SELECT count(*) FROM runs_score WHERE run_id = :run AND NOT passed", run=demo
    )[0][0]
    expect(page.locator(".pager")).to_contain_text(f"{wrong} match")
    page.get_by_role("link", name="Clear").click()
    expect(page.locator(".pager")).to_contain_text(f"{DEMO_TRIALS} finished")
