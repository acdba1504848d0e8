"""The runs list moves by itself: rows of runs that go on, counters, word of new runs and trouble.

Nothing that comes moves what is there: a row stays under the pointer.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.run_page import (
    PHONE,
    diary,
    document,
    faults_of,
    launch,
    let_go,
    run_number,
    wait_until_final,
)

pytestmark = pytest.mark.late

REFUSE = {"do": "status", "status": 400, "message": "No apples.", "times": None}
TOLD = re.compile(r"Maintenance\.\s+ada paused all runs\. New disks\. They go on when it is over")
LISTEN = """strip => {
    window.heard = [];
    const listening = new MutationObserver(() => window.heard.push(strip.textContent));
    listening.observe(strip, { childList: true });
}"""
AT_REST = """async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    await frame();
    await frame();
    return performance.now();
}"""
LOOK_AGAIN = "document.dispatchEvent(new Event('visibilitychange'))"


def test_rows_move_without_a_reload_and_new_runs_are_announced(page, witness, site, demo):
    site.simulator.change(hold_after=20)
    launch(page, document("watched from the list", repeats=2))
    number = run_number(page)
    list_tab = page.context.new_page()
    loaded = open_list(list_tab)
    row = list_tab.locator(f'[data-run-row="{number}"]')
    tick = row.get_by_role("checkbox", name=f"Choose run {number}")
    tick.check()
    seen = row.locator(".run-count").inner_text()
    site.simulator.change(hold_after=60)
    expect(row.locator(".run-count")).not_to_have_text(seen)
    expect(row.locator(".run-rate")).not_to_have_text("0.0/s")
    expect(tick).to_be_checked()
    list_tab.get_by_role("button", name="Pause updates").click()
    expect(list_tab.locator("[data-refresh-text]")).to_have_text(re.compile("^Paused at "))
    let_go(site)
    launch(page, document("started meanwhile"))
    wait_until_final(page)  # it is compared below
    list_tab.get_by_role("button", name="Resume updates").click()
    expect(row.locator(".run-state")).to_have_text("Completed")
    expect(row.locator(".run-count")).to_have_text("120 / 120")
    assert moves_since(list_tab, loaded) == []
    list_tab.get_by_role("link", name="1 new run – show").click()
    expect(list_tab.get_by_role("link", name="started meanwhile")).to_be_visible()
    for one in (number, run_number(page)):
        list_tab.get_by_role("checkbox", name=f"Choose run {one}", exact=True).check()
    list_tab.get_by_role("button", name="Compare", exact=True).click()
    expect(list_tab.locator("#verdict")).to_contain_text(f"and run {number}")
    list_tab.locator("[data-open]").first.click()
    expect(list_tab.locator("[data-detail]")).to_contain_text("The same answer, word by word.")
    list_tab.close()


def test_what_comes_while_the_list_is_open_moves_nothing(page, witness, site, demo):
    """A run, its alert, and trouble of the site, on a wide window and on a phone."""
    wide, phone = page.context.new_page(), page.context.new_page()
    phone.set_viewport_size(PHONE)
    loaded = {tab: open_list(tab) for tab in (wide, phone)}
    site.simulator.play({"match": {"contains": "apples"}, **REFUSE})
    site.simulator.change(latency_ms=1)
    launch(page, document("ends with errors"))
    number = run_number(page)
    for tab in loaded:
        expect(tab.get_by_role("link", name="1 new run – show")).to_be_visible()
        alerts = tab.locator("[data-late-alerts]")
        expect(alerts).to_have_text(re.compile(r"1 (more )?run needs attention\.\s+Show"))
    see_trouble_of_the_site(page, *loaded)
    for tab, since in loaded.items():
        assert moves_since(tab, since) == []
        assert tab is wide or faults_of(tab) == []
        strip = tab.locator("[data-late-alerts]")
        strip.get_by_role("button", name="Show").click()
        expect(strip).to_be_hidden()
        expect(tab.locator(f'[data-alert="{number}"]')).to_be_visible()
        expect(tab.get_by_role("heading", name="Needs attention")).to_be_focused()
        tab.close()


def open_list(tab):
    """When it had come to rest: what scripts add to a page at its load may move things."""
    tab.goto("/runs/")
    expect(tab.locator("[data-refresh-text]")).to_have_text("Live, every 2 s")
    return tab.evaluate(AT_REST)


def see_trouble_of_the_site(page, *tabs):
    """It comes, while the alert is there, too; then it is said to have gone, once."""
    for tab in tabs:
        tab.locator("[data-late-health]").evaluate(LISTEN)
    page.goto("/system/")
    page.get_by_label("Why (everybody reads it)").fill("New disks")
    page.get_by_role("button", name="Pause all runs").click()
    for tab in tabs:
        tab.evaluate(LOOK_AGAIN)  # it asks by itself, too, and may be ahead of a slow test
        expect(tab.locator("[data-late-health]")).to_have_text(TOLD)
    page.get_by_role("button", name="End it; runs go on").click()
    expect(page.get_by_role("button", name="Pause all runs")).to_be_visible()
    for tab in tabs:
        tab.evaluate(LOOK_AGAIN)
        tab.wait_for_function("() => window.heard.length > 1")
        tab.evaluate(LOOK_AGAIN)
        expect(tab.locator("[data-late-health]")).to_be_empty()
        trouble, *rest = tab.evaluate("window.heard")
        assert TOLD.search(trouble)
        assert rest == ["All is well again.", ""]


def moves_since(tab, moment):
    tab.evaluate(AT_REST)  # the last change is drawn, and what it moved is written down
    return [move for at, _, *moves in diary(tab)["shifts"] if at > moment for move in moves]
