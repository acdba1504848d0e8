"""Somebody who looks at a site's pages and photographs them: in every theme and size, or in those
that are wanted."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page

from tests.harness.site import ServedSite

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".cache" / "screenshots"
SHOWN = ROOT / "docs" / "screenshots"  # by documents; others would only make clones large
SIZES = {"1440x900": (1440, 900), "390x844": (390, 844)}
THEMES = ("light", "dark")
RUN_SECONDS = 90
PASSWORD = "for the pictures only"


class Wanted(NamedTuple):
    """Which pictures: all of them, unless some are named."""

    names: frozenset[str] = frozenset()
    themes: tuple[str, ...] = THEMES
    sizes: tuple[str, ...] = tuple(SIZES)

    def has(self, names: frozenset[str]) -> bool:
        return not self.names or bool(self.names & names)


class Photographer:
    """One signed-in person, looking at pages in every theme and size."""

    def __init__(self, browser: Browser, site: ServedSite, wanted: Wanted) -> None:
        self.browser = browser
        self.site = site
        self.wanted = wanted
        self.page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()

    def take_all(self, name: str, path: str, *, signed_in: bool = True, at: str = "") -> None:
        """`at`: what to scroll to."""
        if not self.wanted.has(frozenset({name})):
            return
        for theme, size in self.looks():
            with self.visitor(theme, size, signed_in=signed_in) as page:
                page.goto(self.site.url + path)
                if at:
                    page.locator(at).evaluate("part => part.scrollIntoView({ block: 'center' })")
                self.take(page, name, theme, size)

    def looks(self) -> list[tuple[str, str]]:
        return [(theme, size) for theme in self.wanted.themes for size in self.wanted.sizes]

    @contextmanager
    def visitors(self, path: str) -> Iterator[list[tuple[Page, str, str]]]:
        """The page in every theme and size at once, each with its own socket."""
        with ExitStack() as open_pages:
            pages = [
                (open_pages.enter_context(self.visitor(theme, size)), theme, size)
                for theme, size in self.looks()
            ]
            for page, _, _ in pages:
                page.goto(self.site.url + path)
            yield pages

    @contextmanager
    def visitor(self, theme: str, size: str, *, signed_in: bool = True) -> Iterator[Page]:
        width, height = SIZES[size]
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            storage_state=self.page.context.storage_state() if signed_in else None,
            color_scheme="dark" if theme == "dark" else "light",
        )
        context.add_cookies([{"name": "theme", "value": theme, "url": self.site.url}])
        try:
            yield context.new_page()
        finally:
            context.close()

    def take(self, page: Page, name: str, theme: str, size: str) -> None:
        page.wait_for_load_state("networkidle")
        path = FOLDER / f"{name}-{theme}-{size}.png"
        page.screenshot(path=path, animations="disabled")
        if (SHOWN / path.name).exists():
            shutil.copy(path, SHOWN)
        print(path.relative_to(ROOT), flush=True)

    def set_up(self) -> None:
        self.page.goto(self.site.setup_link)
        self.page.fill("[name=username]", "ada")
        self.page.fill("[name=password]", PASSWORD)
        self.page.fill("[name=password_again]", PASSWORD)
        self.page.click("button:has-text('Create the account')")
        self.page.wait_for_url("**/runs/")

    def start_demo(self, button: str = "Run the demo") -> str:
        """The path of a demo run that is under way."""
        self.page.goto(f"{self.site.url}/runs/")
        if (menu := self.page.get_by_text("Try a demo", exact=True)).count():  # after the first run
            menu.click()
        self.page.click(f"button:has-text('{button}')")
        self.page.wait_for_url(re.compile(r"/runs/\d+/$"))
        return self.page.url.removeprefix(self.site.url)

    def launch(self, changes: dict[str, str]) -> str:
        """The path of a run like the first one, with some fields changed."""
        self.page.goto(f"{self.site.url}/runs/new/?run=1")
        self.page.click("#id_models summary:has-text('Name other models')")
        for name, value in changes.items():
            field = self.page.locator(f"[name='{name}']")
            is_list = field.evaluate("field => field.tagName") == "SELECT"
            field.select_option(value) if is_list else field.fill(value)
        self.page.click("[data-launch]")
        self.page.wait_for_url(re.compile(r"/runs/\d+/$"))
        return self.page.url.removeprefix(self.site.url)

    def launch_document(self, document: dict[str, Any]) -> str:
        """The path of a run of this document; JSON is YAML."""
        self.page.goto(f"{self.site.url}/runs/new/")
        self.page.click("label:has(#mode-yaml)")
        self.page.fill("[name=yaml]", json.dumps(document))
        self.page.click("[data-launch]")
        self.page.wait_for_url(re.compile(r"/runs/\d+/$"))
        return self.page.url.removeprefix(self.site.url)

    def wait_until_finished(self) -> None:
        self.page.wait_for_selector("[data-live-state=ended]", timeout=RUN_SECONDS * 1000)
