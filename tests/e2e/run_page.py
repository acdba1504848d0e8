"""What people do again and again: start a run, and read its page."""

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
READ_TEXTS = """() => Object.fromEntries([...document.querySelectorAll("[data-live]")].map(
    (place) => [place.dataset.live, place.textContent]))"""
LARGEST_SHIFT = 0.05  # of everything on the page together, from its load to the end of the run


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


def run_number(page: Page) -> int:
    found = re.search(r"/runs/(\d+)/", page.url)
    assert found, f"{page.url} is not the page of a run"
    return int(found.group(1))


def wait_until_final(page: Page) -> None:
    """Until the run has ended and the leaderboard, which is fetched on its own, has caught up."""
    page.wait_for_selector("[data-live-state=ended]", timeout=PATIENCE_SECONDS * 1000)
    page.wait_for_selector("[data-leaderboard-rows][data-final]", state="attached")


def live_texts(page: Page) -> dict[str, str]:
    found: dict[str, str] = page.evaluate(READ_TEXTS)
    return found


def diary(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate("window.diary")
    return found
