"""The first minute: from the printed link to a live run. And the first hour, with a server of one's
own and a dataset as its authors publish it: no column is renamed, no row cut off, and what was
typed in the browser is found again by a file."""

import json
import os
import re
from statistics import median_low
from typing import NamedTuple
from unittest.mock import patch

import pytest
from playwright.sync_api import expect

from runs import formatting
from scripts.first_hour import Tried, Walk, walk_all
from tests.e2e.conftest import DEMO_LIMIT, DEMO_TRIALS, NO_SCORES
from tests.e2e.run_page import LARGEST_SHIFT, live_texts, run_number
from workers.engine.statistics.clusters import Clusters, estimate_clustered
from workers.simulator.demo import make_questions

pytestmark = pytest.mark.late

ROWS = 4  # of the 20 in the file
COLOURS_OF_CELLS = """() => {
    const canvas = document.querySelector("[data-heatmap] canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Map();
    for (let at = 0; at < data.length; at += 4) {
        const colour = data.slice(at, at + 4).join(" ");
        colours.set(colour, (colours.get(colour) ?? 0) + 1);
    }
    return [...colours].filter(([colour, dots]) => dots > 2000 && !colour.endsWith(" 0"));
}"""
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
MORE_THAN_A_BIN = 0.06  # latencies are kept in bins that are 8 % wide


class Scored(NamedTuple):
    """A row of the table of scores."""

    candidate: int
    case: int
    value: float | None
    is_failed: bool
    is_cached: bool
    latency_ms: float | None


def test_the_printed_link_leads_to_numbers_that_move_without_a_reload_or_a_shift(first_minute):
    assert first_minute.first_heading == "No runs yet"
    assert first_minute.faults == []
    assert first_minute.complaints == []
    page, witness, diary = first_minute.page, first_minute.witness, first_minute.diary
    texts = {name: [text for _, text in seen] for name, seen in diary["texts"].items()}
    # One when it connects, and one when a slow run's chart needs another step and is asked for.
    asked = witness.frames["hello"] + witness.sent["resync"]
    assert 1 <= witness.frames["snapshot"] <= asked
    assert witness.frames["tick"] >= 8
    assert len(texts["progress"]) >= 8
    assert len(texts["throughput"]) >= 4
    assert max(int(text) for text in texts["in_flight"]) in range(1, DEMO_LIMIT + 1)
    assert witness.navigations.count(page.url) == 1, "the page was loaded again"
    assert [state for _, state in diary["states"]][-2:] == ["Live", "Final"]
    finished_at = first_minute.diary["states"][-1][0]
    boards = [board for at, board in first_minute.diary["boards"] if at < finished_at]
    assert len(set(boards) - {NO_SCORES}) >= 3
    assert first_minute.diary["shift"] <= LARGEST_SHIFT, first_minute.diary["shifts"]


def test_at_the_end_the_page_equals_the_database_and_the_providers_ledger(first_minute, site):
    assert_page_equals_database(first_minute.page, site.database)
    texts, ledger = live_texts(first_minute.page), first_minute.ledger
    assert (ledger["total"], texts["done"]) == (DEMO_TRIALS, str(DEMO_TRIALS))
    assert texts["calls"] == f"{DEMO_TRIALS} sent, 0 retried, 0 throttled"
    assert ledger["peak_in_flight"] <= DEMO_LIMIT
    assert ledger["duplicates"]["extra_calls"] == 0


def assert_page_equals_database(page, database):
    """Every number of a finished run that can be counted in its Score rows."""
    run = run_number(page)
    rows = [Scored(*row) for row in database.rows(SCORES, run=run)]
    texts = live_texts(page)
    best = assert_leaderboard_equals(page, rows, database.rows(CANDIDATES, run=run))
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
        "score": best[2],
        "score_interval": best[3],
        "cache_rate": formatting.percent(cached / done),
    }
    assert {name: texts[name] for name in expected} == expected
    assert_latency_equals(texts["latency_p50"], rows)
    widths = page.evaluate(READ_BAR)
    for name, number in parts.items():
        assert abs(widths[name] - 100 * number / done) < 0.01, (name, widths)


def assert_latency_equals(text, rows):
    """Of the calls that were made."""
    made = [row.latency_ms for row in rows if row.latency_ms is not None and not row.is_cached]
    median_ms = median_low(made)
    low, high = median_ms * (1 - MORE_THAN_A_BIN) - 1, median_ms * (1 + MORE_THAN_A_BIN) + 1
    low, high = (shown_milliseconds(formatting.milliseconds(edge)) for edge in (low, high))
    assert low <= shown_milliseconds(text) <= high, f"{text} for {median_ms} ms"


def assert_leaderboard_equals(page, rows, candidates):
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
    return shown[0]


def scored_of(rows):
    return sum(row.value is not None for row in rows)


def estimated(rows):
    """The score and its interval, by the cases that were asked."""
    by_case: dict[int, list[float]] = {}
    for row in rows:
        by_case.setdefault(row.case, []).extend([] if row.value is None else [row.value])
    found = estimate_clustered(Clusters.of(list(by_case.values())))
    assert found, "no trial was scored"
    return formatting.score(found.value), formatting.score_interval(found.low, found.high)


def shown_milliseconds(text):
    number, _, unit = text.partition(" ")
    return float(number) * {"ms": 1, "s": 1000}[unit]


def test_the_pictures_are_drawn_without_a_reload(first_minute):
    page = first_minute.page
    expect(page.locator("[data-caption]")).to_contain_text(
        "6 candidates, the best on top; 60 cases"
    )
    expect(page.locator(".histogram")).to_have_text([re.compile(r"n 60\b")] * 6)
    shown = page.evaluate(COLOURS_OF_CELLS)
    assert len(shown) >= 2, "the heatmap is of one colour"


@pytest.fixture
def published(tmp_path):
    """As GSM8K is: the column is `answer`, and the number stands after ####."""
    rows = [
        {"question": one.question, "answer": f"It takes\n some thought.\n#### {one.expected}"}
        for one in make_questions(20)
    ]
    path = tmp_path / "test.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_published_dataset_on_a_server_of_ones_own(page, witness, site, published, tmp_path):
    site.simulator.change(latency_ms=5)
    server = f"{site.simulator.url}/v1"
    tried = Tried(published, server, "sim-small", ROWS, max_tokens=120, kind="simulated")
    calls_before = site.simulator.ledger()["by_model"]["sim-small"]
    with patch.dict(os.environ):
        os.environ.pop("REDIS_URL", None)  # of the tests; the workers listen to the site's own
        walk_all(Walk(page, tried), site.folder, tmp_path)
    calls = site.simulator.ledger()["by_model"]["sim-small"] - calls_before
    assert calls == 3 * ROWS, "the same from the browser, again and from a file: asked once"
