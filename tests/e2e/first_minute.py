"""Somebody's first minute with the site, watched: the account, the button, the demo to its end."""

from __future__ import annotations

from typing import Any, NamedTuple

from playwright.sync_api import Page, expect

from tests.e2e.doors import make_admin, run_the_demo
from tests.e2e.inspection import WIDE, faults_of
from tests.e2e.run_page import diary, live_texts, wait_until_final
from tests.e2e.site import Site
from tests.e2e.witness import Witness

DEMO_TRIALS = 360  # 3 prompts x 2 models x 60 questions
DEMO_LIMIT = 10  # calls at once
HALF_AS_LONG_MS = 120
NO_SCORES = "– – – – – –"
STEPS, CALLS_OF_A_STEP = 10, 24  # and those that wait: 34 trials a step, and not all in the end
BOARDS_SEEN = """([none, least]) => new Set(window.diary.boards.map(([, board]) => board).filter(
    (board) => board !== none)).size >= least"""


class FirstMinute(NamedTuple):
    page: Page  # still open, at the end of the run
    witness: Witness
    complaints: list[str]  # its, up to then: the page stays open while others stop the site
    first_heading: str  # what the person saw after making the account
    faults: list[str]  # of the pages before the demo
    diary: dict[str, Any]
    ledger: dict[str, Any]  # the provider's, when nothing but the demo had run


def watch_first_minute(page: Page, site: Site) -> FirstMinute:
    witness = Witness(page, site.url)
    page.goto(site.setup_link)
    faults = faults_of(page)
    make_admin(page, site)
    first_heading = page.get_by_role("heading", level=2).first.inner_text()
    faults += faults_of(page)
    page.set_viewport_size(WIDE)
    page.emulate_media(reduced_motion="no-preference")  # as most people see it
    site.simulator.answer_in(milliseconds=HALF_AS_LONG_MS)
    site.simulator.hold(after=0)
    run_the_demo(page)
    let_it_grow(page, site)
    wait_until_final(page)
    ledger = site.simulator.ledger()
    complaints = list(witness.complaints)
    return FirstMinute(page, witness, complaints, first_heading, faults, diary(page), ledger)


def let_it_grow(page: Page, site: Site) -> None:
    """Step by step, each seen before the next one: a slow page misses none."""
    for step in range(1, STEPS + 1):
        seen = live_texts(page)["progress"]
        site.simulator.hold(after=CALLS_OF_A_STEP)
        expect(page.locator("[data-live=progress]")).not_to_have_text(seen)
        page.wait_for_function(BOARDS_SEEN, arg=[NO_SCORES, step // 3])
    site.simulator.let_go()
