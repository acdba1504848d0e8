"""One site and one browser for all stories; every story gets a tab of its own, and a witness.

The first minute with the site comes before all: the account, the button, the demo to its end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright import sync_api
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from scripts.install_chromium import find_chromium
from tests.e2e.run_page import (
    PASSWORD,
    RUN_PAGE,
    USERNAME,
    WIDE,
    diary,
    faults_of,
    let_go,
    live_texts,
    run_number,
    wait_until_final,
)
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.site import ServedSite

CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",  # one process for all tabs, and no second one for what the GPU would do
    "--disable-site-isolation-trials",
    "--disable-software-rasterizer",
]
PATIENCE_MS = PATIENCE_SECONDS * 1000 / 2  # a story waits for several things
FORGET_DRAFTS = """if (!sessionStorage.getItem("began")) {
    sessionStorage.setItem("began", "1");  // of this tab only
    for (const name of Object.keys(localStorage))
        if (name.startsWith("evalsite.drafts.")) localStorage.removeItem(name);
}"""
DIARY = Path(__file__).with_name("diary.js").read_text()

DEMO_TRIALS = 360  # 3 prompts x 2 models x 60 questions
DEMO_LIMIT = 10  # calls at once
NO_SCORES = "– – – – – –"
STEPS, CALLS_OF_A_STEP = 10, 24  # and those that wait: 34 trials a step, and not all in the end
BOARDS_SEEN = """([none, least]) => new Set(window.diary.boards.map(([, board]) => board).filter(
    (board) => board !== none)).size >= least"""
GIVEN_UP = "WebSocket is closed before the connection is established."


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Closed with the package: as long as Playwright runs, no other event loop can."""
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=find_chromium(), args=CHROMIUM_OPTIONS
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedSite]:
    with ServedSite(tmp_path_factory.mktemp("site")) as started:
        yield started


def open_context(browser: Browser, site: ServedSite, **options: Any) -> BrowserContext:
    """A browser of its own: cookies, cache and tabs are nobody else's."""
    options = {"viewport": WIDE, "base_url": site.url, "reduced_motion": "reduce", **options}
    context = browser.new_context(**options)
    context.add_init_script(DIARY)
    context.set_default_timeout(PATIENCE_MS)
    return context


@pytest.fixture(scope="package")
def context(browser: Browser, site: ServedSite) -> Iterator[BrowserContext]:
    """The admin's browser: everybody is in its session, each with a tab of their own."""
    opened = open_context(browser, site)
    yield opened
    opened.close()


class Witness:
    """Sees everything a page does that a person would not, from its first request on."""

    def __init__(self, page: Page, site_url: str) -> None:
        self.complaints: list[str] = []  # nothing may ever be in here
        self.dialogs: list[str] = []
        self.frames: Counter[str] = Counter()  # of websockets, by type
        self.sent: Counter[str] = Counter()  # by the page, likewise
        self.navigations: list[str] = []
        self._page = page
        self._site_url = site_url
        self._expected: set[tuple[int, str]] = set()
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.complaints.append(f"script error: {error}"))
        page.on("dialog", self._on_dialog)
        page.on("request", self._on_request)
        page.on("requestfailed", self._on_request_failed)
        page.on("response", self._on_response)
        page.on("websocket", self._on_websocket)
        page.on("framenavigated", self._on_navigated)

    def expect_status(self, status: int, path: str) -> None:
        """An answer that is meant, as the 404 of a page that does not exist."""
        self._expected.add((status, f"{self._site_url}{path}"))

    def _on_console(self, message: sync_api.ConsoleMessage) -> None:
        if message.type not in ("error", "warning"):
            return
        is_status = message.text.startswith("Failed to load resource: the server responded")
        if is_status and message.location["url"] in {url for _, url in self._expected}:
            return  # counted by its status
        if message.text.endswith(GIVEN_UP):
            return  # a page waits so long for a socket, and then tries anew; that is no failure
        self.complaints.append(f"console: {message.text}")

    def _on_dialog(self, dialog: sync_api.Dialog) -> None:
        self.dialogs.append(f"{dialog.type}: {dialog.message}")
        dialog.accept()

    def _on_request(self, request: sync_api.Request) -> None:
        if not request.url.startswith((self._site_url, "data:", "blob:")):
            self.complaints.append(f"request to another site: {request.url}")

    def _on_request_failed(self, request: sync_api.Request) -> None:
        # A page that is left takes back what it asked for; that is no failure.
        if request.failure != "net::ERR_ABORTED":
            self.complaints.append(f"failed: {request.method} {request.url}: {request.failure}")

    def _on_response(self, response: sync_api.Response) -> None:
        if response.status >= 400 and (response.status, response.url) not in self._expected:
            self.complaints.append(f"{response.status} for {response.url}")

    def _on_websocket(self, socket: sync_api.WebSocket) -> None:
        socket.on("framereceived", lambda payload: count(self.frames, payload))
        socket.on("framesent", lambda payload: count(self.sent, payload))

    def _on_navigated(self, frame: sync_api.Frame) -> None:
        if frame is self._page.main_frame:
            self.navigations.append(frame.url)


def count(frames: Counter[str], payload: str | bytes) -> None:
    frames[json.loads(payload)["type"]] += 1


class FirstMinute(NamedTuple):
    page: Page  # still open, at the end of the run
    witness: Witness
    complaints: list[str]  # its, up to then: the page stays open while others stop the site
    first_heading: str  # what the person saw after making the account
    faults: list[str]  # of the pages before the demo
    diary: dict[str, Any]
    ledger: dict[str, Any]  # the provider's, when nothing but the demo had run


def let_it_grow(page: Page, site: ServedSite) -> None:
    """Step by step, each seen before the next one: a slow page misses none."""
    for step in range(1, STEPS + 1):
        seen = live_texts(page)["progress"]
        site.simulator.change(hold_after=CALLS_OF_A_STEP)
        expect(page.locator("[data-live=progress]")).not_to_have_text(seen)
        page.wait_for_function(BOARDS_SEEN, arg=[NO_SCORES, step // 3])
    let_go(site)


@pytest.fixture(scope="package")
def first_minute(context: BrowserContext, site: ServedSite) -> FirstMinute:
    """Makes the account and runs the demo, so it comes before every other story."""
    page = context.new_page()
    witness = Witness(page, site.url)
    page.goto(site.setup_link)
    faults = faults_of(page)
    page.goto(site.setup_link)
    page.get_by_label("Username").fill(USERNAME)
    for label in ("Password", "Password again"):
        page.get_by_label(label, exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Create the account").click()
    page.wait_for_url("**/runs/")
    first_heading = page.get_by_role("heading", level=2).first.inner_text()
    faults += faults_of(page)
    page.set_viewport_size(WIDE)
    page.emulate_media(reduced_motion="no-preference")  # as most people see it
    site.simulator.change(hold_after=0, latency_ms=30)
    page.goto("/runs/")
    page.get_by_role("button", name="Run the demo").click()
    page.wait_for_url(RUN_PAGE)
    let_it_grow(page, site)
    wait_until_final(page)
    ledger = site.simulator.ledger()
    complaints = list(witness.complaints)
    return FirstMinute(page, witness, complaints, first_heading, faults, diary(page), ledger)


@pytest.fixture(scope="package")
def demo(first_minute: FirstMinute) -> int:
    """The number of the finished demo run; its models and questions are there too."""
    return run_number(first_minute.page)


@pytest.fixture
def page(context: BrowserContext, site: ServedSite, demo: int) -> Iterator[Page]:
    """A new tab of somebody who is signed in, and who has no drafts of another story."""
    opened = context.new_page()
    opened.add_init_script(FORGET_DRAFTS)
    yield opened
    opened.close()
    site.come_to_rest()


@pytest.fixture
def witness(page: Page, site: ServedSite) -> Iterator[Witness]:
    """Whatever a story is about, its pages must be clean."""
    seen = Witness(page, site.url)
    yield seen
    assert seen.complaints == []
