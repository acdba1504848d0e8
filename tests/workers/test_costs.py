"""What a run costs: its totals equal the scores, the cache is free, the unknown is counted."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import Sum

from runs.models import Endpoint, EndpointKind, Run
from runs.selectors.runs.costs import cost_text
from runs.selectors.runs.leaderboard import leaderboard
from runs.services.runs import create_run
from tests.workers.working import finish, running_worker
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)

SMALL = {"input": 0.15, "output": 0.60}
LARGE = {"input": 2.50, "output": 10.0}


@pytest.fixture
def priced(endpoint: Endpoint) -> Endpoint:
    endpoint.prices = {"sim-small": SMALL, "sim-large": LARGE}
    endpoint.save()
    return endpoint


def sum_of_scores(run: Run) -> float:
    return float(run.scores.aggregate(Sum("cost"))["cost__sum"] or 0.0)


def cost_by_tokens(run: Run, model: str, price: dict[str, float]) -> float:
    scores = run.scores.filter(candidate__document__model__model=model)
    tokens = scores.aggregate(Sum("tokens_in"), Sum("tokens_out"))
    used_in, used_out = tokens["tokens_in__sum"], tokens["tokens_out__sum"]
    return float(price["input"] * used_in + price["output"] * used_out) / 1e6


def test_a_run_costs_what_its_scores_cost_and_the_cache_saves_it_all(
    ada: User, document: dict[str, Any], simulator: SimulatorClient, priced: Endpoint
) -> None:
    with running_worker():
        paid = finish(create_run(ada, document))
        free = finish(create_run(ada, document))
    expected = cost_by_tokens(paid, "sim-small", SMALL) + cost_by_tokens(paid, "sim-large", LARGE)
    assert paid.cost == pytest.approx(sum_of_scores(paid)) == pytest.approx(expected)
    assert paid.cost > 0
    assert (paid.cost_saved, paid.unpriced) == (0.0, 0)
    assert (free.cost, free.unpriced, sum_of_scores(free)) == (0.0, 0, 0.0)
    assert free.cost_saved == pytest.approx(paid.cost)
    assert cost_text(free)["cost"] == "$0.00"
    rates = [(row.model, row.cost_per_thousand) for row in leaderboard(free)]
    assert rates == [(row.model, row.cost_per_thousand) for row in leaderboard(paid)]
    assert sum((rate or 0) * 20 / 1000 for _, rate in rates) == pytest.approx(paid.cost)


def test_a_model_without_a_price_is_counted_not_guessed(
    ada: User, document: dict[str, Any], simulator: SimulatorClient, priced: Endpoint
) -> None:
    priced.prices = {"sim-small": SMALL}
    priced.save()
    with running_worker():
        run = finish(create_run(ada, document))
    assert run.cost == pytest.approx(cost_by_tokens(run, "sim-small", SMALL))
    assert run.unpriced == run.scores.filter(cost__isnull=True).count() == 60
    assert cost_text(run)["cost"].endswith(" + 60 calls of unknown price")


def test_failed_calls_are_unpriced_only_if_an_answer_arrived(
    ada: User, document: dict[str, Any], simulator: SimulatorClient, priced: Endpoint
) -> None:
    document["limits"] = {**document["limits"], "attempts": 1}
    simulator.play(
        {"match": {}, "times": 2, "do": "malformed"},
        {"match": {}, "times": 2, "do": "status", "status": 500},
    )
    with running_worker():
        run = finish(create_run(ada, document))
    assert run.failed == 4
    assert run.unpriced == run.scores.filter(error_class="malformed_answer").count() == 2
    assert run.scores.filter(cost__isnull=True).count() == 4
    assert run.cost == pytest.approx(sum_of_scores(run))
    assert cost_text(run)["cost_context"].startswith("+ 2 of unknown price, ")


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [(EndpointKind.ANTHROPIC, "/v1"), (EndpointKind.OLLAMA, ""), (EndpointKind.AZURE, "")],
)
def test_other_kinds_of_endpoints_run_and_cost_alike(
    ada: User,
    document: dict[str, Any],
    simulator: SimulatorClient,
    priced: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
    kind: EndpointKind,
    suffix: str,
) -> None:
    place = simulator.url.removeprefix("http://")
    monkeypatch.setenv("EVALSITE_ALLOWED_PRIVATE_ENDPOINTS", place)
    with running_worker():
        usual = finish(create_run(ada, document))
        priced.kind, priced.base_url = kind, simulator.url + suffix
        priced.save()
        other = finish(create_run(ada, {**document, "seed": 2}))
    assert (other.done, other.failed, other.cached) == (120, 0, 0), other.reason
    assert other.value_sum == usual.value_sum
    assert other.cost == pytest.approx(usual.cost)
    assert other.cost > 0
