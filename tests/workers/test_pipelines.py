"""Pipelines with routers and agents through real workers: the cap, the trial page, the prices."""

import pytest

from runs.kinds.select.standing import selection_of
from runs.models import RunState
from runs.selectors.estimates.estimate import estimate
from runs.selectors.named_parts import every_dataset
from runs.services.configurations import save_configuration
from runs.services.runs import create_run
from tests.harness.factories import client_of
from tests.workers.working import finish, running_worker
from workers.engine.errors import ConfigurationError
from workers.engine.plugins import PLUGINS, install_plugins

pytestmark = pytest.mark.django_db(transaction=True)

INSTALLED = "tests.engine.installed_agents"
MODELS = ["simulated/sim-small", "simulated/sim-large"]
TERSE = "Answer with the number only."


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    monkeypatch.setenv("EVALSITE_PLUGINS", INSTALLED)  # for the workers, which read it themselves
    install_plugins([INSTALLED])
    yield
    PLUGINS.clear()


@pytest.fixture
def selection(document, endpoint):
    """A router that knows small numbers only, and two agents that fan out."""
    price = {"input": 1.0, "output": 2.0}
    endpoint.prices = {"sim-small": price, "sim-large": price}
    endpoint.save(update_fields=["prices"])
    draft = {"name": "draft", "system": TERSE, "user": "{{question}}", "models": MODELS}
    lone = {**draft, "models": MODELS[:1]}
    return {
        "name": "fan",
        "kind": "select",
        "dataset": {"name": document["dataset"], "first": 5},
        "scorers": document["scorers"],
        "limits": {**document["limits"], "max_concurrent": 4},
        "strategy": "brute_force",
        "steps": [
            {
                "name": "triage",
                "system": TERSE,
                "user": "What is 1 + 0?",
                "models": [MODELS[1]],
                "routes": {"1": "fan"},
                "default": "vote",
            },
            {"name": "fan", "agent": f"{INSTALLED}.fans_out", "calls": [draft]},
            {"name": "vote", "agent": "self_consistency", "calls": [lone]},
        ],
    }


def test_the_cap_holds_over_two_workers_when_agents_fan_out(alice, selection, simulator):
    simulator.change(latency_ms=10)
    with running_worker(), running_worker():
        run = finish(create_run(alice, {**selection, "cache": "off"}))
    assert run.state == RunState.COMPLETED
    ledger = simulator.ledger()
    assert ledger["peak_in_flight"] <= 4
    assert ledger["total"] == run.calls_sent == run.done * 6
    assert run.calls_retried == 0


def test_each_call_is_shown_and_cached_answers_keep_their_price(alice, selection, simulator):
    with running_worker():
        first = finish(create_run(alice, selection))
        second = finish(create_run(alice, selection))
    assert first.cost > 0
    assert second.cost == 0.0
    assert prices_of(first) == prices_of(second)
    assert all(price > 0 for price in prices_of(second).values())
    score = first.scores.get(position=0)
    assert [call[0] for call in score.calls or ()] == ["triage", *["fan.draft"] * 5]
    page = client_of(alice).get(score.get_absolute_url()).content.decode()
    assert "1. triage" in page
    assert "Run again" not in page
    assert "6. fan.draft" in page
    assert "Skipped: vote." in page
    assert "A router chose another step." in page
    cached = client_of(alice).get(second.scores.get(position=0).get_absolute_url()).content.decode()
    assert "Without cache" in cached


def test_the_estimate_counts_the_calls_of_agents_at_most(selection, simulator):
    for steps, calls in ((selection["steps"], 1 + 1 + 5), (selection["steps"][2:], 5)):
        found = estimate({**selection, "steps": steps}, every_dataset())
        assert found.problems == []
        assert found.calls_to_send == found.trials * calls


def test_what_is_not_installed_is_refused_before_it_is_stored(alice, selection):
    PLUGINS.clear()
    for refuse in (
        lambda: create_run(alice, selection),
        lambda: save_configuration(alice, "fan", selection),
    ):
        with pytest.raises(ConfigurationError, match="Choose one of: self_consistency") as caught:
            refuse()
        assert [problem.path for problem in caught.value.problems] == ["steps.1.agent"]


def prices_of(run):
    return {row.name: round(row.dollars_per_sample or 0.0, 12) for row in selection_of(run).rows}
