"""An evolution: filled in, watched while a generation fills up, and its best taken home."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.doors import RUN_PAGE
from tests.e2e.inspection import faults_of
from tests.e2e.run_page import wait_until_final

pytestmark = pytest.mark.late

PROMPTS = {"hurried": "Answer quickly with your first guess.", "plain": "Answer the question."}


def fill_in(page: Page) -> None:
    page.get_by_text("Breed better prompts", exact=True).click()
    page.locator("#id_name").fill("A better prompt")
    page.get_by_role("button", name="Add a first prompt").click()
    for row, (name, words) in zip(
        page.locator(".first-prompt").all(), PROMPTS.items(), strict=True
    ):
        row.get_by_label("Name of the prompt").fill(name)
        row.get_by_label("System message, which evolves").fill(words)
    page.locator("#id_evolve_models").get_by_label("simulated/sim-small").check()
    page.get_by_label("Model that writes").fill("simulated/sim-large")
    page.get_by_label("Dataset", exact=True).select_option("arithmetic")
    page.get_by_role("checkbox", name=re.compile("^Exact")).uncheck()
    page.get_by_role("checkbox", name=re.compile("^Numeric")).check()
    page.locator("#id_evolution-genetic-max_generations").fill("3")


def test_a_prompt_is_bred_and_saved(page: Page, witness: Any, site: Any, demo: int) -> None:
    page.goto("/runs/new/?kind=evolve")
    fill_in(page)
    size = page.locator("#id_evolution-genetic-population_size")
    expect(size).to_have_attribute("placeholder", "2")  # of the preset reflective
    page.get_by_label("Preset", exact=True).select_option("quick_test")
    expect(size).to_have_attribute("placeholder", "10")
    page.get_by_label("Preset", exact=True).select_option("reflective")
    expect(page.locator("[data-estimate-panel]")).to_contain_text("ask a model for new prompts")
    assert faults_of(page) == []
    site.simulator.hold(after=40)  # the first generation is 2 times 30
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url(RUN_PAGE)
    expect(page.locator("[data-under-way]")).to_contain_text(re.compile(r"of \d+ genomes? done"))
    site.simulator.hold(after=30)
    expect(page.locator(".lineage")).to_be_visible()
    page.locator("#generations > summary").press("Enter")  # rows may change during a click
    site.simulator.let_go()
    wait_until_final(page)
    expect(page.locator("#generations")).to_have_attribute("open", "")  # as it was left
    expect(page.locator("[data-under-way]")).to_have_count(0)
    assert faults_of(page) == []

    best = page.get_by_label("The best prompt", exact=True).inner_text()
    run = page.url.removeprefix(site.url)
    page.get_by_role("link", name="Save as a prompt").first.click()
    expect(page.get_by_label("System prompt")).to_have_value(best)
    page.get_by_label("Name", exact=True).fill("sums")
    assert faults_of(page) == []
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("sums v1")
    assert faults_of(page) == []
    page.get_by_role("link", name=re.compile("A better prompt")).click()
    page.wait_for_url(f"**{run}")
