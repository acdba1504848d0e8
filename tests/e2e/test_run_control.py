"""Pausing a run and a budget that runs out, as a person sees them: without a reload."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.doors import document, launch
from tests.e2e.run_page import assert_page_equals_database, wait_until_final
from tests.e2e.site import Site

pytestmark = pytest.mark.late

POINTS_DRAWN = """async (values) => {
    const script = document.querySelector("[src*='js/run']").src;
    const { isolatedIn } = await import(new URL("charts.js", script));
    return isolatedIn(values);
}"""


def test_a_paused_run_says_so_live_and_goes_on_when_resumed(
    page: Page, site: Site, demo: int
) -> None:
    site.simulator.answer_in(milliseconds=300)
    site.simulator.hold(after=100)  # of 180: it cannot end meanwhile
    launch(page, document("paused for a while", repeats=3))
    state = page.locator("[data-run-state] .state-text")
    expect(state).to_have_text("Running")
    menu = page.locator("main [data-menu]", has_text="More")
    for close in (lambda: page.keyboard.press("Escape"), lambda: page.locator("h1").click()):
        menu.locator("summary").click()
        expect(menu.get_by_role("button", name="Pause now")).to_be_visible()
        close()
        expect(menu.get_by_role("button", name="Pause now")).to_be_hidden()
    page.get_by_role("button", name="Pause run").click()
    expect(state).to_have_text(re.compile("^Paus"))
    site.simulator.answer_in(milliseconds=1000)  # lets go what waits; the rest would take long
    expect(state).to_have_text("Paused")
    expect(page.locator("[data-run-notice]")).to_contain_text("Paused by ")
    expect(page.get_by_role("button", name="Pause run")).to_be_hidden()
    expect(page.locator("[data-live=eta]")).to_have_text(re.compile("^paused, .* trials left$"))
    assert page.evaluate(POINTS_DRAWN, [7, None, 8, 9, None, 4]) == [0, 5]
    site.simulator.let_go()
    page.get_by_role("button", name="Resume run").click()
    wait_until_final(page)
    expect(page.locator("[data-run-notice]")).to_be_hidden()
    assert_page_equals_database(page, site.database)


def test_a_budget_that_is_used_up_is_raised_on_the_page(page: Page, site: Site, demo: int) -> None:
    site.simulator.answer_in(milliseconds=1)
    launch(page, {**document("on a budget", cache="off"), "budget": {"calls": 5}})
    state = page.locator("[data-run-state] .state-text")
    expect(state).to_have_text("Paused")
    expect(page.locator("[data-budget=calls]")).to_contain_text("5 of 5 calls")
    expect(page.locator("[data-run-notice]")).to_contain_text("The budget of 5 calls is used up")
    expect(page.get_by_role("button", name="Resume run")).to_be_hidden()
    expect(page.get_by_label("Raise to, calls")).to_have_value("10")
    expect(page.get_by_label("Raise to, dollars")).to_be_hidden()
    page.get_by_label("Raise to, calls").fill("")
    page.get_by_role("button", name="Raise and resume").click()
    wait_until_final(page)
    assert_page_equals_database(page, site.database)


def test_an_ended_page_goes_on_when_somebody_retries_what_failed(
    page: Page, site: Site, demo: int
) -> None:
    refuse = {"do": "status", "status": 400, "message": "No apples.", "times": None}
    site.simulator.follow([{"match": {"contains": "apples"}, **refuse}])
    site.simulator.answer_in(milliseconds=1)
    launch(page, document("retried by another"))
    wait_until_final(page)
    failed = page.locator("[data-live=errors]").inner_text()
    site.simulator.follow([])
    site.simulator.hold(after=0)
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("button", name="Retry failed").click()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # it is looked at again
    expect(page.locator("[data-live-state=live]")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    site.simulator.let_go()
    wait_until_final(page)
    assert int(failed) > 0
    expect(page.locator("[data-live=errors]")).to_have_text("0")
    assert_page_equals_database(page, site.database)
    other.close()
