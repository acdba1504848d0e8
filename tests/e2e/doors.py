"""What people do again and again: make the account, sign in, start a run."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from playwright.sync_api import Page

from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.site import ServedSite

USERNAME = "ada"
PASSWORD = "nine quiet herons wading"
RUN_PAGE = re.compile(r"/runs/\d+/$")


def make_admin(page: Page, site: ServedSite) -> None:
    """Through the link that `serve` printed."""
    page.goto(site.setup_link)
    page.get_by_label("Username").fill(USERNAME)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password again").fill(PASSWORD)
    page.get_by_role("button", name="Create the account").click()
    page.wait_for_url("**/runs/")


def run_the_demo(page: Page) -> None:
    page.goto("/runs/")
    if (menu := page.get_by_text("Try a demo", exact=True)).count():  # there are runs already
        menu.click()
    page.get_by_role("button", name="Run the demo").click()
    page.wait_for_url(RUN_PAGE)


def launch(page: Page, document: dict[str, Any]) -> None:
    """Over REST, in the session of the page: those who fill in the form say so."""
    cookies = {one["name"]: one["value"] for one in page.context.cookies()}
    headers = {"X-CSRFToken": cookies[settings.CSRF_COOKIE_NAME]}
    answer = page.request.post(
        "/api/v1/runs",
        data={"configuration": document},
        headers=headers,
        timeout=PATIENCE_SECONDS * 1000,
    )
    assert answer.ok, answer.text()
    page.goto(f"/runs/{answer.json()['id']}/")


def let_go(site: ServedSite) -> None:
    """What waits at the provider is answered now, and what comes at once."""
    site.simulator.change(hold_after=None, latency_ms=1)


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
