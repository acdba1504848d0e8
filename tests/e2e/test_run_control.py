"""A run is paused, cancelled, retuned and retried: all without a reload."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.run_page import document, faults_of, launch, let_go, run_number, wait_until_final
from tests.e2e.test_first_minute import assert_page_equals_database

pytestmark = pytest.mark.late

POINTS_DRAWN = """async (values) => {
    const script = document.querySelector("[src*='js/run']").src;
    const { isolatedIn } = await import(new URL("charts.js", script));
    return isolatedIn(values);
}"""


def test_a_paused_run_says_so_live_and_goes_on_when_resumed(page, site, demo):
    site.simulator.change(hold_after=100)  # of 360: it cannot end meanwhile
    launch(page, document("paused for a while", repeats=6))
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
    # Calls on their way are answered, and so slowly that workers hear of the pause before the end.
    site.simulator.change(hold_after=None, latency_ms=500)
    expect(state).to_have_text("Paused")
    expect(page.locator("[data-run-notice]")).to_contain_text("Paused by ")
    expect(page.get_by_role("button", name="Pause run")).to_be_hidden()
    expect(page.locator("[data-live=eta]")).to_have_text(re.compile("^paused, .* trials left$"))
    assert page.evaluate(POINTS_DRAWN, [7, None, 8, 9, None, 4]) == [0, 5]
    let_go(site)
    page.get_by_role("button", name="Resume run").click()
    wait_until_final(page)
    expect(page.locator("[data-run-notice]")).to_be_hidden()
    assert_page_equals_database(page, site.database)


def test_an_ended_page_goes_on_when_somebody_retries_what_failed(page, site, demo):
    refuse = {"do": "status", "status": 400, "message": "No apples.", "times": None}
    site.simulator.play({"match": {"contains": "apples"}, **refuse})
    site.simulator.change(latency_ms=1)
    launch(page, document("retried by another"))
    wait_until_final(page)
    failed = page.locator("[data-live=errors]").inner_text()
    site.simulator.play()
    site.simulator.change(hold_after=0)
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("button", name="Retry failed").click()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # it is looked at again
    expect(page.locator("[data-live-state=live]")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    let_go(site)
    wait_until_final(page)
    assert int(failed) > 0
    expect(page.locator("[data-live=errors]")).to_have_text("0")
    assert_page_equals_database(page, site.database)
    other.close()


def test_a_running_run_is_in_order_and_can_be_cancelled(page, witness, site, demo):
    site.simulator.change(hold_after=20)
    launch(page, document("Stopped on the way", repeats=5))
    assert faults_of(page) == []
    expect(page.locator("[data-live-state=live]")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("[data-run-state]")).to_have_text("Cancelled")
    assert len(witness.dialogs) == 1, "it was not asked whether this is meant"
    assert site.database.state(run_number(page)) == "cancelled"


def test_a_changed_limit_is_a_flag_and_its_run_is_among_the_endpoints(page, witness, site, demo):
    other = page.context.new_page()
    other.goto("/endpoints/")
    expect(other.get_by_role("link", name="retuned on the way")).to_be_hidden()
    site.simulator.change(hold_after=20)
    launch(page, document("retuned on the way", repeats=4))
    expect(other.get_by_role("link", name="retuned on the way")).to_be_visible()
    expect(other.locator("[data-refresh-text]")).to_have_text("Live, every 2 s")
    limited_by = page.locator("[data-live=limited_by]")
    expect(limited_by).to_contain_text("Limited by the run's own 4 calls at once.")
    other.goto(page.url)
    other.locator("[data-limits] summary").click()
    other.get_by_label("Calls at once").fill("9")
    other.get_by_label("Why").fill("more is allowed")
    other.get_by_role("button", name="Apply").click()
    flag = page.locator(".chart-mark")
    expect(flag).to_have_count(1)
    expect(flag).to_have_attribute("aria-label", re.compile("9.*more is allowed"))
    expect(page.locator("[data-live=limits]")).to_contain_text("9 calls at once")
    expect(limited_by).to_contain_text("Limited by the run's own 9 calls at once.")
    other.close()
    let_go(site)
    wait_until_final(page)
    expect(limited_by).to_be_empty()
