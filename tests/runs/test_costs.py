"""Costs as people read them: on the run page, the leaderboard and a trial."""

import pytest

from runs.selectors.runs.costs import cost_per_thousand, cost_text
from runs.selectors.runs.snapshot import take_snapshot
from tests.harness.factories import add_score, client_of, make_dataset, make_person, make_run

pytestmark = pytest.mark.django_db

PRICES = {"sim-small": {"input": 0.15, "output": 0.6}}
FACTS = {"endpoints": {"simulated": {"prices": PRICES}}}


@pytest.fixture
def ada():
    return make_person("ada")


@pytest.mark.parametrize(
    ("totals", "cost", "context"),
    [
        pytest.param({}, "–", "no answer paid for yet", id="nothing yet"),
        pytest.param({"failed": 3, "done": 3}, "–", "no answer paid for yet", id="all failed"),
        pytest.param(
            {"scored": 3, "cost": 0.0123, "cost_saved": 0.5},
            "$0.0123",
            "$0.50 saved by the cache",
            id="known",
        ),
        pytest.param(
            {"scored": 3, "cost_saved": 0.25},
            "$0.00",
            "$0.25 saved by the cache",
            id="all from the cache",
        ),
        pytest.param(
            {"scored": 3, "unpriced": 3},
            "unknown",
            "3 calls of unknown price",
            id="unknown",
        ),
        pytest.param(
            {"scored": 13, "cost": 0.0123, "unpriced": 12},
            "$0.0123 + 12 calls of unknown price",
            "+ 12 of unknown price, $0.00 saved",
            id="mixed",
        ),
        pytest.param(
            {"scored": 2, "cost": 1.5, "unpriced": 1},
            "$1.50 + 1 call of unknown price",
            "+ 1 of unknown price, $0.00 saved",
            id="mixed, one",
        ),
    ],
)
def test_a_runs_cost_is_told_in_words(ada, totals, cost, context):
    text = cost_text(make_run(ada, make_dataset(ada), **totals))
    assert (text["cost"], text["cost_context"]) == (cost, context)


def test_the_cost_tile_is_live_and_shows_the_snapshots_text(ada):
    run = make_run(ada, make_dataset(ada), scored=2, done=2, cost=0.0123, cost_saved=0.004)
    assert take_snapshot(run)["text"]["cost_value"] == "$0.0123"
    page = client_of(ada).get(run.get_absolute_url()).content.decode()
    assert '<span class="tile-value" data-live="cost_value">$0.0123</span>' in page
    assert 'data-live="cost_context">$0.004 saved by the cache</span>' in page
    assert page.count('class="tile"') == 6


@pytest.mark.parametrize(
    ("facts", "totals", "cost"),
    [
        pytest.param(FACTS, {"scored": 4, "tokens_in": 4000, "tokens_out": 400}, 0.21, id="priced"),
        pytest.param({}, {"scored": 4, "tokens_in": 4000, "tokens_out": 400}, None, id="no price"),
        pytest.param(FACTS, {"scored": 4}, None, id="tokens not told"),
        pytest.param(FACTS, {}, None, id="no answer yet"),
    ],
)
def test_candidates_compare_by_the_cost_of_a_thousand_answers(ada, facts, totals, cost):
    run = make_run(ada, make_dataset(ada), snapshot_of=facts)
    run.candidates.update(done=totals.get("scored", 0), **totals)
    found = cost_per_thousand(run, run.candidates.get())
    assert found == (None if cost is None else pytest.approx(cost))
    page = client_of(ada).get(run.get_absolute_url()).content.decode()
    shown = "$0.21" if cost else "unknown" if totals else "–"
    assert f"{shown}</" in page.split('data-label="$ per 1k"')[1].split("</tr>")[0]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        pytest.param({"cost": 0.00021}, "<dd>$0.00021</dd>", id="known"),
        pytest.param({"cost": 0.0, "cached": True}, "<dd>$0.00</dd>", id="cached"),
        pytest.param({}, "<dd>unknown: the model has no price,", id="none"),
        pytest.param(
            {"error_class": "timeout", "attempts": [["call", "timeout", 1.0, 9.0, ""]]},
            "<dd>no answer arrived</dd>",
            id="timed out",
        ),
        pytest.param(
            {"error_class": "too_large", "attempts": [["call", "too_large", 1.0, 9.0, ""]]},
            "<dd>unknown: the model has no price",
            id="an answer that was no use",
        ),
    ],
)
def test_a_trial_says_what_it_cost_or_why_nobody_knows(ada, fields, text):
    dataset = make_dataset(ada)
    run = make_run(ada, dataset)
    score = add_score(run, dataset.cases.get(position=0), run.candidates.get(), 0, **fields)
    page = client_of(ada).get(score.get_absolute_url()).content.decode()
    assert f"<dt>Cost</dt>{text}" in page
