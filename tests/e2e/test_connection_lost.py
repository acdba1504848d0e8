"""What ends live updates; the page says so, keeps its numbers, and comes back."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from evalsite.embedded.parts import answers_ready
from tests.e2e.conftest import open_context
from tests.e2e.run_page import (
    PASSWORD,
    USERNAME,
    diary,
    document,
    launch,
    let_go,
    live_texts,
    run_number,
    wait_until_final,
)
from tests.e2e.test_first_minute import assert_page_equals_database
from tests.harness.patience import wait_until

pytestmark = pytest.mark.late

FOUR_TRIES = r"""() => window.diary.states.some(
    ([, text]) => /^Reconnecting, attempt ([4-9]|\d\d)/.test(text))"""
LONGEST_WAIT_SECONDS = 2  # that the page names: so soon it asks again while nobody answers
SIGNED_OUT = 4401
# The first is what the page says until its script has begun.
AS_IT_SHOULD_BE = ("Reload for newer numbers", "Connecting", "Live", "Delayed")


@pytest.fixture
def running(page, site, demo):
    """The page of a run that goes on until it is let finish."""
    site.simulator.change(hold_after=200)  # of 300: it cannot end meanwhile
    launch(page, document("outlives its web server", repeats=5))
    expect(page.locator("[data-live-state=live]")).to_be_visible()
    page.wait_for_function("() => window.diary.texts.progress?.length >= 2")
    yield page
    site.let_supervisor_go_on()  # also after a failure: the other stories need the site
    wait_until(lambda: answers_ready(site.url))


def test_a_web_server_that_dies_leaves_the_page_readable_and_it_is_soon_live_again(running, site):
    site.hold_supervisor()
    site.kill_web()
    running.wait_for_function(FOUR_TRIES)  # it may be offline before a slow test looks
    expect(running.get_by_role("button", name="Retry now")).to_be_visible()
    last = [text for _, text in diary(running)["texts"]["progress"]][-1]
    assert live_texts(running)["progress"] == last, "the last numbers are gone"
    expect(running.locator("[data-live=progress]")).to_be_visible()
    site.let_supervisor_go_on()
    running.wait_for_selector("[data-live-state=live]")
    states = [text for _, text in diary(running)["states"]]
    away = [text for text in states if not text.startswith(AS_IT_SHOULD_BE)]
    assert away[0].startswith("Reconnecting, attempt 1"), away
    waits = re.findall(r"in (\d+) s", " ".join(away))
    assert max(map(int, waits)) <= LONGEST_WAIT_SECONDS, away
    finish(running, site)
    assert_page_equals_database(running, site.database)


def test_a_page_that_polls_is_live_soon_after_sockets_work_again(browser, context, site, demo):
    is_blocked, is_crowded, is_mute, connected = True, False, False, 0
    # A clock is that of all tabs of a context, for good: it gets a context of its own.
    own = open_context(browser, site, storage_state=context.storage_state())
    page = own.new_page()
    page.clock.install()

    def on_socket(socket):
        if is_crowded:
            socket.close(code=4429, reason="20 pages of yours are already live.")
        elif is_blocked:
            socket.close()
        else:
            nonlocal connected
            connected += 1
            server = socket.connect_to_server()
            server.on_message(lambda frame: None if is_mute else socket.send(frame))

    page.route_web_socket(re.compile("/ws/"), on_socket)
    site.simulator.change(hold_after=20)
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
    page.clock.fast_forward("00:10")
    page.wait_for_selector("[data-live-state=live]")
    expect(banner).to_be_hidden()
    is_mute, before = True, connected  # it stays connected, and nothing is heard
    page.clock.fast_forward("00:31")
    while connected == before:  # or the test's own limit ends it
        page.wait_for_timeout(100)
    is_mute = False
    finish(page, site)
    own.close()


def finish(page, site):
    """The provider answers at once from now on."""
    let_go(site)
    wait_until_final(page)


def sign_in(page):
    page.goto("/sign-in/")
    page.get_by_label("Username").fill(USERNAME)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/runs/")


def test_signing_out_in_another_tab_closes_the_socket_and_asks_to_sign_in(browser, site, demo):
    site.simulator.change(hold_after=20)
    context = open_context(browser, site)  # a session of its own: it is signed out for good
    page, other_tab = context.new_page(), context.new_page()
    sign_in(page)
    launch(page, document("is watched by nobody", repeats=5))
    expect(page.locator("[data-live-state=live]")).to_be_visible()
    other_tab.goto("/runs/new/")
    other_tab.locator("#id_name").fill("half a run")
    other_tab.get_by_role("button", name="Sign out").first.click()
    other_tab.wait_for_url("**/sign-in/")
    assert other_tab.evaluate("localStorage.length") == 0
    banner = page.locator("[data-banner]")
    expect(banner).to_contain_text("You are signed out.")
    assert diary(page)["closes"][-1] == SIGNED_OUT  # before it, slow sockets may have been given up
    site.come_to_rest()  # its calls are not the next story's
    back_here = quote(f"/runs/{run_number(page)}/", safe="")
    link = banner.get_by_role("link", name="Sign in again")
    expect(link).to_have_attribute("href", f"/sign-in/?next={back_here}")
    context.close()
