"""Limits at work, seen without a reload: a flag on the run's chart, a run on the endpoints page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.doors import document, launch
from tests.e2e.run_page import wait_until_final

pytestmark = pytest.mark.late


def test_a_changed_limit_is_a_flag_and_its_run_shows_on_the_endpoints_page(
    page, witness, site, demo
):
    other = page.context.new_page()
    other.goto("/endpoints/")
    expect(other.get_by_role("link", name="retuned on the way")).to_be_hidden()
    site.simulator.hold(after=20)
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
    site.simulator.let_go()
    wait_until_final(page)
    expect(limited_by).to_be_empty()
