"""Without a mouse: help, going places, pausing updates, walking a table."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.run_page import (
    WIDE,
    document,
    faults_of,
    launch,
    let_go,
    live_texts,
    wait_until_final,
)
from tests.e2e.test_first_minute import assert_page_equals_database

pytestmark = pytest.mark.late

HOLD_CLOCK = "() => { const now = performance.now(); performance.now = () => now; }"


def test_question_mark_two_letters_and_control_k_help_and_lead_to_pages(page, witness, demo):
    page.goto("/runs/new/")
    page.locator("#id_name").focus()
    page.keyboard.type("?gr.jk")
    expect(page.locator("#id_name")).to_have_value("?gr.jk")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.locator("h1").click()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.goto(f"/runs/{demo}/events/")
    for keys, heading in (
        ("gr", "Runs"),
        ("gn", "New run"),
        ("gd", "Datasets"),
        ("ge", "Endpoints"),
    ):
        page.evaluate(HOLD_CLOCK)  # the second letter counts for a moment only
        page.keyboard.type(keys)
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        page.wait_for_load_state()  # its heading is there before its scripts listen to keys
    page.goto("/datasets/")
    page.locator("h1").click()
    page.keyboard.press("Control+k")
    dialog = page.get_by_role("dialog", name="Jump to")
    expect(dialog.get_by_role("link", name="Endpoints")).to_be_visible()
    assert faults_of(page) == []
    page.keyboard.type(f"#{demo}")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{demo}/")
    page.keyboard.press("Control+k")
    expect(dialog.get_by_role("link", name="Endpoints")).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(dialog.get_by_role("link").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_full_stop_pauses_the_updates_and_counts_those_that_wait(page, witness, site, demo):
    site.simulator.change(hold_after=10)
    launch(page, document("paused on the way", repeats=2))
    page.wait_for_selector("[data-live-state=live]")
    page.keyboard.press(".")
    page.wait_for_selector("[data-live-state=paused]")
    before = live_texts(page)
    for least in (1, 2, 3):
        site.simulator.change(hold_after=20)  # so many more of the 120: it cannot end meanwhile
        expect(page.locator("[data-live-text]")).to_have_text(
            re.compile(rf"On hold – ([{least}-9]|\d\d) updates? waiting")
        )
    assert live_texts(page) == before, "numbers moved on a paused page"
    page.keyboard.press(".")
    expect(page.locator("[data-live-state=live]")).to_be_visible()
    expect(page.locator("[data-live=progress]")).not_to_have_text(before["progress"])
    let_go(site)
    wait_until_final(page)
    assert_page_equals_database(page, site.database)


def test_a_slash_filters_j_and_k_walk_the_scores_and_enter_opens_the_trial(page, witness, demo):
    page.goto(f"/runs/{demo}/scores/")
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.locator("h1").click()
    links = page.locator("[data-rows] a.primary")
    page.keyboard.press("j")
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(links.nth(2)).to_be_focused()
    page.keyboard.press("k")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{demo}/trials/*/")
    first = page.get_by_role("heading", level=1).inner_text()
    page.keyboard.press("]")
    expect(page.get_by_role("heading", level=1)).not_to_have_text(first)
    page.wait_for_load_state()  # its heading is there before its scripts listen to keys
    page.keyboard.press("[")
    expect(page.get_by_role("heading", level=1)).to_have_text(first)


def test_the_heatmap_is_a_table_too_arrows_read_it_and_enter_opens_the_trial(page, witness, demo):
    page.goto(f"/runs/{demo}/")
    page.locator("[data-heatmap]").get_by_role("button", name="Data table").click()
    table = page.locator("[data-heatmap]").get_by_role("table")
    expect(table.locator("tbody tr")).to_have_count(60)
    expect(table.get_by_role("columnheader")).to_have_count(7)
    assert faults_of(page) == []
    page.set_viewport_size(WIDE)
    cells, readout = page.locator("[data-heatmap] canvas"), page.locator("[data-readout]")
    expect(cells).to_be_visible()  # its numbers are fetched
    cells.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    expect(readout).to_have_text(re.compile(r".+ · simulated/.+, case \d+ “.+”: [01]\.000$"))
    last = readout.inner_text()
    page.keyboard.press("ArrowRight")
    assert readout.inner_text() == last, "there is no cell behind the last one"
    page.keyboard.press("Enter")
    page.wait_for_url("**/trials/*/")
    name, case = last.split(", case ")[0], last.split("“")[1].split("”")[0]
    expect(page.locator("body")).to_contain_text(name)
    expect(page.locator("body")).to_contain_text(case)
