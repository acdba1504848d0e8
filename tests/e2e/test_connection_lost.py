"""The web part dies during a run: the page says so, keeps its numbers, and comes back by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.doors import document, launch
from tests.e2e.run_page import assert_page_equals_database, diary, live_texts, wait_until_final
from tests.e2e.site import Site
from tests.platform.serving import time_of_first_answer

pytestmark = pytest.mark.late

FOUR_TRIES = r"""() => window.diary.states.some(
    ([, text]) => /^Reconnecting, attempt ([4-9]|\d\d)/.test(text))"""
NOTICED_WITHIN_SECONDS = 2.0
LIVE_AGAIN_WITHIN_SECONDS = 5.0


@pytest.fixture
def running(page: Page, site: Site, demo: int) -> Iterator[Page]:
    """The page of a run that goes on until it is let finish."""
    site.simulator.answer_in(milliseconds=400)
    site.simulator.hold(after=200)  # of 300: it cannot end meanwhile
    launch(page, document("outlives its web server", repeats=5))
    expect(page.locator("[data-live-state=live]")).to_be_visible()
    page.wait_for_function("() => window.diary.texts.progress?.length >= 2")
    yield page
    site.let_supervisor_go_on()  # also after a failure: the other stories need the site
    time_of_first_answer(site.url)
    site.simulator.let_go()


@pytest.mark.alone
def test_a_killed_web_server_is_noticed_and_the_page_is_live_again(running, site):
    killed_at = site.kill_web()
    running.wait_for_selector("[data-live-state=reconnecting]")
    answered_at = time_of_first_answer(site.url)
    running.wait_for_selector("[data-live-state=live]")

    states = [(at, text) for at, text in diary(running)["states"] if at > killed_at]
    assert states[0][1].startswith("Reconnecting, attempt 1")
    assert states[0][0] - killed_at <= NOTICED_WITHIN_SECONDS
    live_at = next(at for at, text in states if text == "Live")
    assert live_at - answered_at <= LIVE_AGAIN_WITHIN_SECONDS

    finish(running, site)
    assert_page_equals_database(running, site.database)


def test_a_web_server_that_stays_away_leaves_the_page_readable_until_it_is_back(running, site):
    site.hold_supervisor()
    site.kill_web()
    running.wait_for_function(FOUR_TRIES)  # it may be offline before a slow test looks
    expect(running.get_by_role("button", name="Retry now")).to_be_visible()
    last = [text for _, text in diary(running)["texts"]["progress"]][-1]
    assert live_texts(running)["progress"] == last, "the last numbers are gone"
    expect(running.locator("[data-live=progress]")).to_be_visible()

    site.let_supervisor_go_on()
    running.wait_for_selector("[data-live-state=live]")
    finish(running, site)
    assert_page_equals_database(running, site.database)


def test_a_page_that_polls_is_live_soon_after_sockets_work_again(page, site, demo):
    is_blocked, is_crowded = True, False

    def on_socket(socket) -> None:
        if is_crowded:
            socket.close(code=4429, reason="20 pages of yours are already live.")
        elif is_blocked:
            socket.close()
        else:
            socket.connect_to_server()

    page.route_web_socket(re.compile("/ws/"), on_socket)
    site.simulator.hold(after=20)
    launch(page, document("polled for a while", repeats=5))
    page.wait_for_selector("[data-live-state=polling]")
    page.wait_for_function("() => window.diary.texts.progress?.length >= 1")
    is_crowded, is_blocked = True, False
    page.get_by_role("button", name="Retry now").click()
    banner = page.locator("[data-banner]")
    advice = "Close some tabs; this page looks again every 10 s."
    expect(banner).to_have_text(f"20 pages of yours are already live. {advice}")
    expect(page.locator("[data-live-text]")).to_have_text("Polling every 5 s")
    is_crowded = False
    page.wait_for_selector("[data-live-state=live]")
    expect(banner).to_be_hidden()
    finish(page, site)


def finish(page: Page, site: Site) -> None:
    """The provider answers at once from now on."""
    site.simulator.let_go()
    wait_until_final(page)
