"""A choice among combinations: filled in, watched while it narrows, and taken home as files."""

from __future__ import annotations

import csv
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Page, expect

from tests.e2e.doors import RUN_PAGE, document, launch
from tests.e2e.inspection import faults_of
from tests.e2e.run_page import wait_until_final

pytestmark = pytest.mark.late

MODELS = ["simulated/sim-small", "simulated/sim-large"]
ROWS = "question,expected\n" + "".join(f"What is {n} + {n}?,{2 * n}\n" for n in range(2, 22))


def fill_in(page: Page) -> None:
    page.get_by_text("Choose models for steps", exact=True).click()
    page.locator("#id_name").fill("Which models?")
    page.get_by_role("button", name="Add a step").click()
    first, second = page.locator(".step").all()
    for step, name, prompt in (
        (first, "planner", "{{question}}"),
        (second, "solver", "What is {{planner}} + 0?"),
    ):
        step.get_by_label("Name of the step").fill(name)
        step.get_by_label("System prompt of the step").fill("Answer with the number only.")
        step.get_by_label("Prompt of the step", exact=True).fill(prompt)
        for model in MODELS:
            step.get_by_label(model).check()
    page.get_by_text("Paste rows", exact=True).click()
    page.get_by_label("Rows", exact=True).fill(ROWS)


def test_a_choice_is_filled_in_and_watched_to_its_winner(
    page: Page, witness: Any, site: Any, demo: int, tmp_path: Path
) -> None:
    site.simulator.answer_in(milliseconds=40)
    page.goto("/runs/new/")
    fill_in(page)
    expect(page.locator("[data-estimate-panel]")).to_contain_text("80 trials")
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url(RUN_PAGE)
    expect(page.locator(".arm-best .arm-fate")).to_have_text(re.compile("leads|chosen"))
    page.locator("#rounds > summary").press("Enter")  # rows may change during a click
    wait_until_final(page)
    expect(page.locator(".arm-best .arm-fate")).to_have_text("chosen")
    expect(page.locator("#rounds")).to_have_attribute("open", "")  # as it was left
    expect(page.locator("ol.arms .arm")).to_have_count(4)
    expect(page.locator("[data-verdict]")).to_contain_text("Chosen: planner=")
    assert faults_of(page) == []

    with page.expect_download() as coming:
        page.get_by_role("link", name="CSV").click()
    coming.value.save_as(tmp_path / "table.csv")
    rows = list(csv.DictReader(StringIO((tmp_path / "table.csv").read_text())))
    assert len(rows) == 4
    with page.expect_download() as coming:
        page.get_by_role("link", name="LiteLLM").click()
    coming.value.save_as(tmp_path / "winner.yaml")
    models = yaml.safe_load((tmp_path / "winner.yaml").read_text())["model_list"]
    assert [model["model_name"] for model in models] == ["planner", "solver"]

    page.get_by_role("link", name="Duplicate").click()
    expect(page.locator("#kind-select")).to_be_checked()
    expect(page.locator(".step")).to_have_count(2)


def test_many_combinations_fit_the_page_and_one_is_found(
    page: Page, witness: Any, site: Any, demo: int
) -> None:
    site.simulator.hold(after=10)
    many = [
        {"endpoint": "simulated", "model": "sim-large", "parameters": {"max_tokens": 20 + number}}
        for number in range(7)
    ]
    steps = [{"name": name, "user": "{{question}}", "models": many} for name in ("one", "two")]
    choice = document("Many", kind="select", steps=steps)
    launch(page, {key: choice[key] for key in choice if key not in ("prompts", "models")})
    expect(page.locator("ol.arms .arm")).to_have_count(25)
    assert faults_of(page) == []
    page.get_by_label("Find combinations by name").fill('one=sim-large {"max_tokens":23}')
    page.get_by_role("button", name="Find").click()
    expect(page.locator("ol.arms .arm")).to_have_count(7)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("[data-run-state]")).to_have_text("Cancelled")
    site.simulator.let_go()
