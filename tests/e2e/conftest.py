"""One site and one browser for all stories; every story gets a tab of its own, and a witness."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from scripts.install_chromium import find_chromium
from tests.e2e.first_minute import FirstMinute, watch_first_minute
from tests.e2e.inspection import WIDE
from tests.e2e.run_page import run_number
from tests.e2e.site import Site
from tests.e2e.witness import Witness
from tests.harness.patience import PATIENCE_SECONDS

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
DIARY = Path(__file__).with_name("diary.js").read_text()


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
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    started = Site(tmp_path_factory.mktemp("site"))
    yield started
    started.close()


def open_context(browser: Browser, site: Site, **options: Any) -> BrowserContext:
    """A browser of its own: cookies, cache and tabs are nobody else's."""
    options = {"viewport": WIDE, "base_url": site.url, "reduced_motion": "reduce", **options}
    context = browser.new_context(**options)
    context.add_init_script(DIARY)
    context.set_default_timeout(PATIENCE_MS)
    return context


@pytest.fixture(scope="package")
def context(browser: Browser, site: Site) -> Iterator[BrowserContext]:
    """The admin's browser: everybody is in its session, each with a tab of their own."""
    opened = open_context(browser, site)
    yield opened
    opened.close()


@pytest.fixture(scope="package")
def first_minute(context: BrowserContext, site: Site) -> FirstMinute:
    """Makes the account and runs the demo, so it comes before every other story."""
    return watch_first_minute(context.new_page(), site)


@pytest.fixture(scope="package")
def demo(first_minute: FirstMinute) -> int:
    """The number of the finished demo run; its models and questions are there too."""
    return run_number(first_minute.page)


@pytest.fixture
def page(context: BrowserContext, site: Site, demo: int) -> Iterator[Page]:
    """A new tab of somebody who is signed in."""
    opened = context.new_page()
    yield opened
    opened.close()
    site.come_to_rest()


@pytest.fixture
def witness(page: Page, site: Site) -> Iterator[Witness]:
    """Whatever a story is about, its pages must be clean."""
    seen = Witness(page, site.url)
    yield seen
    assert seen.complaints == []
