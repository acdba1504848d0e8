"""Plug-ins that raise anything, or never come to an end, in a real worker: it goes on, and so do
its leases and other runs."""

import pytest

from runs.kinds.select.standing import selection_of
from runs.models import Chunk, RunState
from runs.selectors.estimates.estimate import estimate
from runs.selectors.named_parts import every_dataset
from runs.services.configurations import save_configuration
from runs.services.control.retrying import retry_failed
from runs.services.datasets.storing import store_rows
from runs.services.runs import cancel_run, create_run
from tests import odd_parts, odd_scorers
from tests.harness.factories import client_of
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.processes import wait_until_gone
from tests.harness.work import MODELS, TERSE
from tests.workers.working import finish, running_worker
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import KINDS
from workers.engine.plugins import PLUGINS, install_plugins
from workers.engine.scorers import SCORERS
from workers.runtime import EXIT_BROKEN

pytestmark = pytest.mark.django_db(transaction=True)

PARTS = odd_parts.__name__
ODD = odd_scorers.__name__
LATE = (
    "The scorer Hangs took longer than the 0.3 s that one answer may take, so its process was "
    "ended. Make a pattern or a schema simpler, or a plug-in faster. The answer is kept."
)


@pytest.fixture(autouse=True)
def uninstalled():
    yield
    PLUGINS.clear()


def test_whatever_a_plug_in_raises_the_worker_goes_on(alice, few, simulator, monkeypatch):
    monkeypatch.setitem(SCORERS.ours, "odd", odd_parts.OddJudge)
    monkeypatch.setitem(KINDS, "odd", odd_parts.OddKind)
    with running_worker(also=PARTS) as worker:
        run = finish(create_run(alice, {**few, "scorers": ["odd"]}))
        assert (run.state, run.done, run.failed) == (RunState.COMPLETED_WITH_ERRORS, 20, 4)
        failed = run.scores.exclude(error_class="").values_list("case__position", flat=True)
        assert list(failed) == [0, 4, 8, 12]
        lost = finish(create_run(alice, {**few, "kind": "odd"}))
        assert lost.state == RunState.FAILED
        assert lost.reason.endswith("RuntimeError: The target raised SystemExit(1).")
        after = finish(create_run(alice, few))
        assert (after.state, after.done) == (RunState.COMPLETED, 20)
        assert worker.is_alive()


def test_a_strategy_that_never_ends_fails_its_own_run_only(
    alice, few, selection, simulator, monkeypatch
):
    PLUGINS.update(odd_parts.STRATEGIES)
    monkeypatch.setenv("EVALSITE_WORKER_MEGABYTES", "1500")
    with running_worker(also=PARTS) as worker:
        for name in ("Spins", "Learns"):
            stuck = finish(create_run(alice, {**selection, "strategy": f"{PARTS}.{name}"}))
            assert stuck.state == RunState.FAILED
            assert f"The strategy {name} did not come to an end within 0.5 s." in stuck.reason
        hungry = finish(create_run(alice, {**selection, "strategy": f"{PARTS}.Devours"}))
        assert (hungry.state, "MemoryError" in hungry.reason) == (RunState.FAILED, True)
        other = finish(create_run(alice, few))
        assert other.state == RunState.COMPLETED
        assert worker.is_alive()
        # Where no exception reaches it, the worker ends instead of doing nothing for ever.
        asleep = create_run(alice, {**selection, "strategy": f"{PARTS}.Sleeps"})
        worker.join(timeout=PATIENCE_SECONDS)
        assert worker.exitcode == EXIT_BROKEN
        assert cancel_run(asleep)


@pytest.fixture
def plain(few):
    return {**few, "cache": "use"}


def test_a_scorer_that_never_ends_costs_its_own_trials_only(alice, plain, simulator):
    odd_scorers.register()
    three = {"name": "sums", "first": 3}
    telling = {**plain, "scorers": [f"{ODD}.TellsProcess"]}
    with running_worker(also=ODD) as worker:
        stuck = create_run(alice, {**plain, "dataset": three, "scorers": [f"{ODD}.Hangs"]})
        other = finish(create_run(alice, plain))
        apart = finish(create_run(alice, telling))
        assert other.state == apart.state == RunState.COMPLETED
        check_stuck(finish(stuck))
        simulator.reset()
        assert retry_failed(stuck, alice) == 3
        check_stuck(finish(stuck))
        assert simulator.ledger()["total"] == 0  # the answers were kept
        # One lease for each chunk, and one more for those that were retried: none ran out.
        assert set(other.chunks.values_list("token", flat=True)) == {1}
        assert set(stuck.chunks.values_list("token", flat=True)) == {2}
        assert not Chunk.objects.exclude(deaths=0).exists()

        last = finish(create_run(alice, telling))
        children = {int(score.details[0][3]) for score in last.scores.all()}
        assert worker.pid not in children
        worker.kill()
        wait_until_gone(*children)


def check_stuck(run):
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED_WITH_ERRORS, 3, 3)
    rows = run.scores.values_list("error_class", "error_message", "value")
    assert set(rows) == {("scorer_error", LATE, None)}
    assert all(run.scores.values_list("answer", flat=True))


def test_patterns_that_a_dataset_brings_cannot_keep_the_worker(alice, plain, simulator):
    simulator.play({"times": None, "do": "answer", "answer": "a" * 5_000})
    rules = ["(?:a?){1000}X" * 60, "(?:a?){1000}X", "a+"]
    store_rows(
        alice, "rules", [{"question": f"{n}?", "rule": rule} for n, rule in enumerate(rules)]
    )
    document = {**plain, "dataset": "rules", "scorers": [{"regex": {"pattern_field": "rule"}}]}
    with running_worker():
        run = finish(create_run(alice, document))
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED_WITH_ERRORS, 3, 1)
    refused, slow, quick = run.scores.order_by("case__position")
    assert "is too large: RE2 makes a program of more than 10,000" in refused.error_message
    assert (slow.value, quick.value) == (0.0, 1.0)


INSTALLED = "tests.engine.installed_agents"


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setenv("EVALSITE_PLUGINS", INSTALLED)  # for the workers, which read it themselves
    install_plugins([INSTALLED])


@pytest.fixture
def fan(document, endpoint, installed):
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


def test_the_cap_holds_over_two_workers_when_agents_fan_out(alice, fan, simulator):
    simulator.change(latency_ms=10)
    with running_worker(), running_worker():
        run = finish(create_run(alice, {**fan, "cache": "off"}))
    assert run.state == RunState.COMPLETED
    ledger = simulator.ledger()
    assert ledger["peak_in_flight"] <= 4
    assert ledger["total"] == run.calls_sent == run.done * 6
    assert run.calls_retried == 0


def test_each_call_is_shown_and_cached_answers_keep_their_price(alice, fan, simulator):
    with running_worker():
        first = finish(create_run(alice, fan))
        second = finish(create_run(alice, fan))
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


def test_the_estimate_counts_the_calls_of_agents_at_most(fan, simulator):
    for steps, calls in ((fan["steps"], 1 + 1 + 5), (fan["steps"][2:], 5)):
        found = estimate({**fan, "steps": steps}, every_dataset())
        assert found.problems == []
        assert found.calls_to_send == found.trials * calls


def test_what_is_not_installed_is_refused_before_it_is_stored(alice, fan):
    PLUGINS.clear()
    for refuse in (
        lambda: create_run(alice, fan),
        lambda: save_configuration(alice, "fan", fan),
    ):
        with pytest.raises(ConfigurationError, match="Choose one of: self_consistency") as caught:
            refuse()
        assert [problem.path for problem in caught.value.problems] == ["steps.1.agent"]


def prices_of(run):
    return {row.name: round(row.dollars_per_sample or 0.0, 12) for row in selection_of(run).rows}
