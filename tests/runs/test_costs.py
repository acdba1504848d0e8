"""Costs as people read them: on the run page, the leaderboard and a trial."""

from typing import Any

import pytest
from django.urls import reverse

from runs.selectors.runs.costs import cost_per_thousand, cost_text
from runs.selectors.runs.snapshot import take_snapshot
from tests.harness.factories import add_score, client_of, make_run

pytestmark = pytest.mark.django_db

PRICES = {"sim-small": {"input": 0.15, "output": 0.6}}
FACTS = {"endpoints": {"simulated": {"prices": PRICES}}}


NOBODY = "no answer paid for yet"
TOLD: list[tuple[dict[str, Any], str, str]] = [
    ({}, "–", NOBODY),
    ({"failed": 3, "done": 3}, "–", NOBODY),
    ({"scored": 3, "cost": 0.0123, "cost_saved": 0.5}, "$0.0123", "$0.50 saved by the cache"),
    ({"scored": 3, "cost_saved": 0.25}, "$0.00", "$0.25 saved by the cache"),  # all from there
    ({"scored": 3, "unpriced": 3}, "unknown", "3 calls of unknown price"),
    (
        {"scored": 13, "cost": 0.0123, "unpriced": 12},
        "$0.0123 + 12 calls of unknown price",
        "+ 12 of unknown price, $0.00 saved",
    ),
    (
        {"scored": 2, "cost": 1.5, "unpriced": 1},
        "$1.50 + 1 call of unknown price",
        "+ 1 of unknown price, $0.00 saved",
    ),
]


def test_a_runs_cost_is_told_in_words(alice, dataset):
    for totals, cost, context in TOLD:
        text = cost_text(make_run(alice, dataset, **totals))
        assert (text["cost"], text["cost_context"]) == (cost, context)


def test_the_cost_tile_is_live_and_shows_the_snapshots_text(alice, dataset):
    run = make_run(alice, dataset, scored=2, done=2, cost=0.0123, cost_saved=0.004)
    assert take_snapshot(run)["text"]["cost_value"] == "$0.0123"
    page = client_of(alice).get(run.get_absolute_url()).content.decode()
    assert '<span class="tile-value" data-live="cost_value">$0.0123</span>' in page
    assert 'data-live="cost_context">$0.004 saved by the cache</span>' in page
    assert page.count('class="tile"') == 6


def test_candidates_compare_by_the_cost_of_a_thousand_answers(alice, dataset):
    told = {"scored": 4, "tokens_in": 4000, "tokens_out": 400}
    for facts, totals, cost, shown in (
        (FACTS, told, pytest.approx(0.21), "$0.21"),
        ({}, told, None, "unknown"),  # no price
        (FACTS, {"scored": 4}, None, "unknown"),  # tokens not told
        (FACTS, {}, None, "–"),
    ):
        run = make_run(alice, dataset, snapshot_of=facts)
        run.candidates.update(done=totals.get("scored", 0), **totals)
        assert cost_per_thousand(run, run.candidates.get()) == cost
        page = client_of(alice).get(reverse("run_leaderboard", args=[run.pk])).text
        assert f"{shown}</" in page.split('data-label="$ per 1k"')[1].split("</tr>")[0]


def test_a_trial_says_what_it_cost_or_why_nobody_knows(alice, dataset):
    run, case = make_run(alice, dataset), dataset.cases.get(position=0)
    for fields, text in (
        ({"cost": 0.00021}, "$0.00021</dd>"),
        ({"cost": 0.0, "cached": True}, "$0.00</dd>"),
        ({}, "unknown: the model has no price,"),
        (failed("timeout"), "no answer arrived</dd>"),
        (failed("too_large"), "unknown: the model has no price"),  # an answer of no use
    ):
        score = add_score(run, case, run.candidates.get(), 0, **fields)
        page = client_of(alice).get(score.get_absolute_url()).content.decode()
        assert f"<dt>Cost</dt><dd>{text}" in page
        score.delete()


def failed(error):
    return {"error_class": error, "attempts": [["call", error, 1.0, 9.0, ""]]}
