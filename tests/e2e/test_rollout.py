"""A rollout: filled in, watched while its missions go on, and two episodes played back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.doors import RUN_PAGE
from tests.e2e.inspection import faults_of
from tests.e2e.run_page import wait_until_final
from tests.harness.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.late

STEPS = 24
READ_AGENTS = """picture => [...picture.querySelectorAll("[data-replay-agents] circle")].map(
    (one) => [one.getAttribute("cx"), one.getAttribute("cy")])"""
PAUSE_AT_STEP_3 = """told => {
    const button = document.querySelector("[data-replay-play]");
    const watching = new MutationObserver(() => {
        if (!told.textContent.startsWith("Step 3 of")) return;
        watching.disconnect();
        told.dataset.seenWith = button.textContent.trim();
        button.click();
    });
    watching.observe(told, { childList: true, characterData: true, subtree: true });
}"""
READ_TABLE = "rows => [...rows.querySelectorAll('td')].map((cell) => cell.textContent.trim())"


def fill_in(page: Page) -> None:
    page.get_by_text("Play missions", exact=True).click()
    page.locator("#id_name").fill("Foragers and a pole")
    page.get_by_label("Missions", exact=True).fill("grid/maze\ngymnasium/CartPole-v1")
    page.get_by_label("Steps at most").fill(str(STEPS))
    page.get_by_label("Episodes", exact=True).fill("2")
    page.get_by_label("Policies", exact=True).fill("random\nstill")


def test_missions_are_played_and_episodes_watched(page: Page, witness: Any, demo: int) -> None:
    page.goto("/runs/new/")
    fill_in(page)
    expect(page.locator("[data-estimate-panel]")).to_contain_text("2 policies × 4 episodes")
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url(RUN_PAGE)
    page.evaluate("window.isTheSame = true")
    missions = page.locator(".rollout-mission")
    for number in range(2):  # without a reload
        expect(missions.nth(number)).to_contain_text(
            "4 of 4 episodes", timeout=PATIENCE_SECONDS * 1000
        )
    wait_until_final(page)  # until then the newest episodes come first
    assert page.evaluate("window.isTheSame")

    missions.first.get_by_role("link", name="Watch").first.click()
    play_back(page, page.locator("[data-replay-picture]"), READ_AGENTS)
    page.get_by_role("link", name="Show its episodes").click()
    missions.nth(1).get_by_role("link", name="Watch with pictures").first.click()
    play_back(page, page.locator("[data-replay-film]"), "film => film.src")


def play_back(page: Page, picture: Locator, read: str) -> None:
    """Played, paused, and moved by hand: the script shows what the server would. The missions are
    on the same page, so that its faults are theirs, too."""
    told, button = page.locator("[data-replay-told]"), page.locator("[data-replay-play]")
    expect(told).to_have_text(re.compile(r"^Step 0 of \d+"))
    first = picture.evaluate(read)
    told.evaluate(PAUSE_AT_STEP_3)  # within the page: it would be over before a slow test looks
    button.click()
    expect(told).to_have_text(re.compile(r"^Step 3 of"))
    expect(button).to_have_text("Play")
    expect(told).to_have_attribute("data-seen-with", "Pause")
    page.locator("[data-replay-scrub] input").fill("5")
    page.locator("[data-replay-scrub] input").press("ArrowLeft")
    expect(told).to_have_text(re.compile(r"^Step 4 of"))
    table = page.locator("[data-replay-rows]")
    shown = (picture.evaluate(read), table.evaluate(READ_TABLE))
    assert shown[0] != first
    assert faults_of(page) == []
    page.goto(f"{page.url.partition('#')[0]}&step=4#replay")
    assert (picture.evaluate(read), table.evaluate(READ_TABLE)) == shown
