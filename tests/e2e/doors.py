"""What people do again and again: make the account, sign in, start a run."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import Page

from tests.e2e.site import Site

USERNAME = "ada"
PASSWORD = "nine quiet herons wading"
RUN_PAGE = re.compile(r"/runs/\d+/$")


def make_admin(page: Page, site: Site) -> None:
    """Through the link that `serve` printed."""
    page.goto(site.setup_link)
    page.get_by_label("Username").fill(USERNAME)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password again").fill(PASSWORD)
    page.get_by_role("button", name="Create the account").click()
    page.wait_for_url("**/runs/")


def sign_in(page: Page) -> None:
    page.goto("/sign-in/")
    page.get_by_label("Username").fill(USERNAME)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/runs/")


def run_the_demo(page: Page) -> None:
    page.goto("/runs/")
    if (menu := page.get_by_text("Try a demo", exact=True)).count():  # there are runs already
        menu.click()
    page.get_by_role("button", name="Run the demo").click()
    page.wait_for_url(RUN_PAGE)


def launch(page: Page, document: dict[str, Any]) -> None:
    """Through the YAML view of the new-run page; JSON is YAML."""
    page.goto("/runs/new/")
    page.get_by_text("YAML", exact=True).click()
    page.get_by_label("Document").fill(json.dumps(document))
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url(RUN_PAGE)


def document(name: str, **changes: Any) -> dict[str, Any]:
    """The demo's questions for one prompt and one model, never from the cache."""
    return {
        "name": name,
        "kind": "evaluate",
        "dataset": "arithmetic",
        "prompts": [{"name": "terse", "system": "Answer with the number only."}],
        "models": ["simulated/sim-small"],
        "scorers": ["numeric"],
        "limits": {"max_concurrent": 4, "requests_per_minute": None},
        "cache": "off",
        **changes,
    }
