"""A mutation: filled in, watched while it trains, and its rewrites read."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.doors import RUN_PAGE
from tests.e2e.inspection import faults_of
from tests.e2e.run_page import wait_until_final

pytestmark = pytest.mark.late


def fill_in(page: Page) -> None:
    page.locator("#id_name").fill("What breaks it?")
    page.get_by_label("Target", exact=True).fill("simulated/sim-large")
    page.get_by_label("Mutator", exact=True).fill("simulated/sim-large")
    page.get_by_label("Dataset", exact=True).select_option("arithmetic")
    page.get_by_role("checkbox", name=re.compile("^Exact")).uncheck()
    page.get_by_role("checkbox", name=re.compile("^Numeric")).check()
    page.locator("#id_learner-ppo-num_steps").fill("3")
    page.locator("#id_learner-ppo-updates").fill("3")
    page.get_by_text("Episodes, and what the target is told").click()
    page.get_by_label("Steps of an episode", exact=True).fill("1")
    page.get_by_label("Held-out cases", exact=True).fill("6")


def test_a_policy_is_trained_and_its_rewrites_are_read(
    page: Page, witness: Any, site: Any, demo: int
) -> None:
    page.goto("/runs/new/?kind=mutate")
    fill_in(page)
    environments = page.locator("#id_learner-ppo-num_processes")
    expect(environments).to_have_attribute("placeholder", "16")
    page.get_by_label("How long", exact=True).select_option("quick_look")
    expect(environments).to_have_attribute("placeholder", "8")
    expect(page.locator("[data-estimate-panel]")).to_contain_text("24 trials of 3 steps each")
    assert faults_of(page) == []
    site.simulator.hold(after=60)  # an update is about 40 calls
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url(RUN_PAGE)
    expect(page.locator("[data-phase]")).to_contain_text(re.compile(r"Update \d: \d of 8 segments"))
    expect(page.locator("[data-plot=reward]")).to_be_visible()
    page.locator("#updates > summary").press("Enter")  # rows may change during a click
    site.simulator.let_go()
    wait_until_final(page)
    expect(page.locator("#updates")).to_have_attribute("open", "")  # as it was left
    expect(page.locator("[data-phase]")).to_have_count(0)
    expect(page.get_by_role("heading", name="On held-out queries")).to_be_visible()
    assert faults_of(page) == []

    page.get_by_role("link", name="On held-out queries").click()
    expect(page.locator("#transitions")).to_contain_text("Rewrites on held-out queries")
    expect(page.locator(".mutation-steps > li").first).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Weights as JSON").click()
    assert download.value.suggested_filename.endswith("weights.json")
