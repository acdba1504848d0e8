"""What people do again and again: start a run, and read its page. It has the same numbers as the
database."""

from __future__ import annotations

import re
from statistics import median_low
from typing import Any, NamedTuple

from django.conf import settings
from playwright.sync_api import Page

from runs import formatting
from tests.harness.database import Database, Rows
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.site import ServedSite
from workers.engine.statistics.clusters import Clusters, estimate_clustered

USERNAME = "ada"
PASSWORD = "nine quiet herons wading"
RUN_PAGE = re.compile(r"/runs/\d+/$")
READ_TEXTS = """() => Object.fromEntries([...document.querySelectorAll("[data-live]")].map(
    (place) => [place.dataset.live, place.textContent]))"""
READ_BAR = """() => Object.fromEntries([...document.querySelectorAll("[data-segment]")].map(
    (part) => [part.dataset.segment, Number(part.getAttribute("width"))]))"""
READ_ROWS = """() => [...document.querySelectorAll("[data-rows] tr:has(a)")].map((row) => {
    const cell = (name) => row.querySelector(`[data-label="${name}"]`).innerText.trim();
    const names = ["Model", "Score", "95 % interval", "n", "Cached"];
    return [row.querySelector("a").textContent, ...names.map(cell)];
})"""
SCORES = """
    SELECT candidate_id, case_id, value, error_class != '', cached, latency_ms FROM runs_score
    WHERE run_id = :run
"""
CANDIDATES = """
    SELECT id, json_extract(document, '$.prompt.name'),
           json_extract(document, '$.model.endpoint') || '/'
               || json_extract(document, '$.model.model')
    FROM runs_candidate WHERE run_id = :run
"""
LARGEST_SHIFT = 0.05  # of everything on the page together, from its load to the end of the run
MORE_THAN_A_BIN = 0.06  # latencies are kept in bins that are 8 % wide


class Scored(NamedTuple):
    """A row of the table of scores."""

    candidate: int
    case: int
    value: float | None
    is_failed: bool
    is_cached: bool
    latency_ms: float | None


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


def assert_page_equals_database(page: Page, database: Database) -> None:
    """Every number of a finished run that can be counted in its Score rows."""
    run = run_number(page)
    rows = [Scored(*row) for row in database.rows(SCORES, run=run)]
    texts = live_texts(page)
    score, interval = estimated(rows)
    done, failed = len(rows), sum(row.is_failed for row in rows)
    scored, cached = scored_of(rows), sum(row.is_cached for row in rows)
    parts = {"fresh": scored - cached, "cached": cached, "failed": failed}
    expected = {
        **{name: formatting.count(number) for name, number in parts.items()},
        "progress": f"{done:,} of {done:,} trials",
        "done": formatting.count(done),
        "errors": formatting.count(failed),
        "waiting": "0",
        "in_flight": "0",
        "score": score,
        "score_interval": interval,
        "cache_rate": formatting.percent(cached / done),
    }
    assert {name: texts[name] for name in expected} == expected
    assert_latency_equals(texts["latency_p50"], rows)
    widths = page.evaluate(READ_BAR)
    for name, number in parts.items():
        assert abs(widths[name] - 100 * number / done) < 0.01, (name, widths)
    assert_leaderboard_equals(page, rows, database.rows(CANDIDATES, run=run))


def assert_latency_equals(text: str, rows: list[Scored]) -> None:
    """Of the calls that were made."""
    made = [row.latency_ms for row in rows if row.latency_ms is not None and not row.is_cached]
    median_ms = median_low(made)
    low, high = median_ms * (1 - MORE_THAN_A_BIN) - 1, median_ms * (1 + MORE_THAN_A_BIN) + 1
    low, high = (shown_milliseconds(formatting.milliseconds(edge)) for edge in (low, high))
    assert low <= shown_milliseconds(text) <= high, f"{text} for {median_ms} ms"


def assert_leaderboard_equals(page: Page, rows: list[Scored], candidates: Rows) -> None:
    expected = []
    for number, prompt, model in candidates:
        own = [row for row in rows if row.candidate == number]
        n = f"{formatting.count(scored_of(own))} / {formatting.count(len(own))}"
        cached = formatting.count(sum(row.is_cached for row in own))
        expected.append([prompt, model, *estimated(own), n, cached])
    shown = page.evaluate(READ_ROWS)
    assert sorted(shown) == sorted(expected)
    scores = [float(row[2]) for row in shown]
    assert scores == sorted(scores, reverse=True), "the best does not come first"


def scored_of(rows: list[Scored]) -> int:
    return sum(row.value is not None for row in rows)


def estimated(rows: list[Scored]) -> tuple[str, str]:
    """The score and its interval, by the cases that were asked."""
    by_case: dict[int, list[float]] = {}
    for row in rows:
        by_case.setdefault(row.case, []).extend([] if row.value is None else [row.value])
    found = estimate_clustered(Clusters.of(list(by_case.values())))
    assert found, "no trial was scored"
    return formatting.score(found.value), formatting.score_interval(found.low, found.high)


def shown_milliseconds(text: str) -> float:
    number, _, unit = text.partition(" ")
    return float(number) * {"ms": 1, "s": 1000}[unit]
