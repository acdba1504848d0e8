"""The runs list moves by itself: rows of runs that go on, counters, and a word of new runs."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.doors import document, launch, let_go
from tests.e2e.run_page import LARGEST_SHIFT, diary, run_number, wait_until_final

pytestmark = pytest.mark.late


def test_rows_move_without_a_reload_and_new_runs_are_announced(page, witness, site, demo):
    site.simulator.change(hold_after=20)
    launch(page, document("watched from the list", repeats=2))
    number = run_number(page)
    list_tab = page.context.new_page()
    list_tab.goto("/runs/")
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
    assert diary(list_tab)["shift"] <= LARGEST_SHIFT, diary(list_tab)["shifts"]

    list_tab.get_by_role("link", name="1 new run – show").click()
    expect(list_tab.get_by_role("link", name="started meanwhile")).to_be_visible()

    for one in (number, run_number(page)):
        list_tab.get_by_role("checkbox", name=f"Choose run {one}", exact=True).check()
    list_tab.get_by_role("button", name="Compare", exact=True).click()
    expect(list_tab.locator("#verdict")).to_contain_text(f"and run {number}")
    list_tab.locator("[data-open]").first.click()
    expect(list_tab.locator("[data-detail]")).to_contain_text("The same answer, word by word.")
    list_tab.close()
