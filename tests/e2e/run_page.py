"""The run page as a person reads it, and the same numbers as the database has them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from playwright.sync_api import Page

from runs import formatting
from tests.harness.database import Database, Rows
from tests.harness.patience import PATIENCE_SECONDS
from workers.engine.statistics.clusters import Clusters, estimate_clustered

READ_TEXTS = """() => Object.fromEntries([...document.querySelectorAll("[data-live]")].map(
    (place) => [place.dataset.live, place.textContent]))"""
READ_BAR = """() => Object.fromEntries([...document.querySelectorAll("[data-segment]")].map(
    (part) => [part.dataset.segment, Number(part.getAttribute("width"))]))"""
READ_ROWS = """() => [...document.querySelectorAll("[data-rows] tr:has(a)")].map((row) => {
    const cell = (name) => row.querySelector(`[data-label="${name}"]`).innerText.trim();
    const names = ["Model", "Score", "95 % interval", "n", "Cached"];
    return [row.querySelector("a").textContent, ...names.map(cell)];
})"""
TOTALS = """
    SELECT count(*) AS done, count(value) AS scored, total(error_class != '') AS failed,
           total(cached) AS cached
    FROM runs_score WHERE run_id = :run
"""
CANDIDATES = """
    SELECT json_extract(document, '$.prompt.name') AS prompt,
           json_extract(document, '$.model.endpoint') || '/'
               || json_extract(document, '$.model.model') AS model,
           count(score.id) AS done, count(score.value) AS scored,
           total(score.error_class != '') AS failed, total(score.cached) AS cached,
           candidate.id
    FROM runs_candidate AS candidate
    LEFT JOIN runs_score AS score ON score.candidate_id = candidate.id
    WHERE candidate.run_id = :run GROUP BY candidate.id
"""
MEDIAN_LATENCY = """
    SELECT latency_ms FROM runs_score
    WHERE run_id = :run AND latency_ms IS NOT NULL AND NOT cached
    ORDER BY latency_ms LIMIT 1
    OFFSET (SELECT (count(latency_ms) - 1) / 2 FROM runs_score WHERE run_id = :run AND NOT cached)
"""
LARGEST_SHIFT = 0.05  # of everything on the page together, from its load to the end of the run
MORE_THAN_A_BIN = 0.06  # latencies are kept in bins that are 8 % wide


class Totals(NamedTuple):
    done: int
    scored: int
    failed: int
    cached: int


class BoardRow(NamedTuple):
    prompt: str
    model: str
    score: str
    interval: str
    n: str
    cached: str


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
    totals = totals_of(database.rows(TOTALS, run=run)[0])
    texts = live_texts(page)
    expected = expected_texts(totals, values_by_case(database, run))
    assert {name: texts[name] for name in expected} == expected
    assert_latency_equals(texts["latency_p50"], database.rows(MEDIAN_LATENCY, run=run))
    assert_bar_equals(page, totals)
    assert_leaderboard_equals(page, database, run)


def assert_latency_equals(text: str, found: Rows) -> None:
    """Of the calls that were made: none, if the cache had every answer."""
    if not found:
        assert text == formatting.NOTHING
        return
    [[median_ms]] = found
    low, high = median_ms * (1 - MORE_THAN_A_BIN) - 1, median_ms * (1 + MORE_THAN_A_BIN) + 1
    low, high = (shown_milliseconds(formatting.milliseconds(edge)) for edge in (low, high))
    assert low <= shown_milliseconds(text) <= high, f"{text} for {median_ms} ms"


def expected_texts(totals: Totals, by_case: list[list[float]]) -> dict[str, str]:
    found = estimate_clustered(Clusters.of(by_case))
    assert found, "no trial was scored"
    return {
        "progress": f"{totals.done:,} of {totals.done:,} trials",
        "done": formatting.count(totals.done),
        "fresh": formatting.count(totals.scored - totals.cached),
        "cached": formatting.count(totals.cached),
        "failed": formatting.count(totals.failed),
        "errors": formatting.count(totals.failed),
        "waiting": "0",
        "in_flight": "0",
        "score": formatting.score(found.value),
        "score_interval": formatting.score_interval(found.low, found.high),
        "cache_rate": formatting.percent(totals.cached / totals.done),
    }


def assert_bar_equals(page: Page, totals: Totals) -> None:
    widths = page.evaluate(READ_BAR)
    numbers = {
        "fresh": totals.scored - totals.cached,
        "cached": totals.cached,
        "failed": totals.failed,
    }
    for name, number in numbers.items():
        assert abs(widths[name] - 100 * number / totals.done) < 0.01, (name, widths)


def assert_leaderboard_equals(page: Page, database: Database, run: int) -> None:
    rows = [BoardRow(*row) for row in page.evaluate(READ_ROWS)]
    expected = [board_row(database, run, row) for row in database.rows(CANDIDATES, run=run)]
    assert sorted(rows) == sorted(expected)
    scores = [float(row.score) for row in rows]
    assert scores == sorted(scores, reverse=True), "the best does not come first"


def board_row(database: Database, run: int, row: tuple[Any, ...]) -> BoardRow:
    prompt, model, *sums, candidate = row
    totals = totals_of(tuple(sums))
    found = estimate_clustered(Clusters.of(values_by_case(database, run, candidate)))
    assert found, f"no trial of {prompt} with {model} was scored"
    interval = formatting.score_interval(found.low, found.high)
    n = f"{formatting.count(totals.scored)} / {formatting.count(totals.done)}"
    score, cached = formatting.score(found.value), formatting.count(totals.cached)
    return BoardRow(prompt, model, score, interval, n, cached)


def values_by_case(database: Database, run: int, candidate: int | None = None) -> list[list[float]]:
    """All that was scored, by the case that was asked."""
    query = "SELECT case_id, value FROM runs_score WHERE run_id = :run"
    of_one = " AND candidate_id = :candidate"
    rows = database.rows(query + (of_one if candidate else ""), run=run, candidate=candidate)
    by_case: dict[int, list[float]] = {}
    for case, value in rows:
        by_case.setdefault(case, []).extend([] if value is None else [value])
    return list(by_case.values())


def totals_of(row: tuple[Any, ...]) -> Totals:
    return Totals(*map(int, row))


def shown_milliseconds(text: str) -> float:
    number, _, unit = text.partition(" ")
    return float(number) * {"ms": 1, "s": 1000}[unit]
