"""What runs cost, and budgets and quotas that run out while calls fly."""

from datetime import timedelta

import pytest
from django.db.models import Sum

from runs.models import ChunkState, Dataset, EndpointKind, RunState
from runs.selectors.quotas import spent_on_day
from runs.selectors.runs.costs import cost_text
from runs.selectors.runs.leaderboard import leaderboard
from runs.services.chunks import recovery
from runs.services.chunks.recovery import sweep
from runs.services.control.limits import retune_run
from runs.services.control.resuming import resume_run
from runs.services.people.quotas import set_person_quota
from runs.services.runs import create_run
from tests.conftest import shared_redis
from tests.harness.factories import make_person
from tests.harness.patience import wait_until
from tests.workers.working import finish, is_in, kill, paused, running_worker
from workers.engine.calling.calls import EXPECTED_ANSWER_TOKENS
from workers.engine.calling.prices import TOKENS
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db(transaction=True)

SLOTS = 12  # calls at once, by the document
# What a worker reserves for a call of the dearest model before it has seen an answer: it may be the
# one that finds no room for another.
FIRST_GUESS = (100 * 2.5 + EXPECTED_ANSWER_TOKENS * 10.0) / TOKENS


@pytest.fixture
def root(transactional_db):
    return make_person("root", staff=True)


def sum_of_scores(run):
    return run.scores.aggregate(Sum("cost"))["cost__sum"] or 0.0


def cost_by_tokens(run, endpoint, *models):
    total = 0.0
    for model in models:
        price = endpoint.prices[model]
        scores = run.scores.filter(candidate__document__model__model=model)
        used = scores.aggregate(input=Sum("tokens_in"), output=Sum("tokens_out"))
        total += sum(price[side] * used[side] for side in used) / 1e6
    return total


def test_a_run_costs_what_its_scores_cost_and_the_cache_saves_all(alice, both, simulator, priced):
    with running_worker():
        paid = finish(create_run(alice, both))
        free = finish(create_run(alice, {**both, "budget": {"calls": 1, "dollars": 1e-9}}))
    expected = cost_by_tokens(paid, priced, "sim-small", "sim-large")
    assert paid.cost == pytest.approx(sum_of_scores(paid)) == pytest.approx(expected)
    assert paid.cost > 0
    assert (paid.cost_saved, paid.unpriced) == (0.0, 0)
    assert (free.state, free.cached, free.calls_sent) == (RunState.COMPLETED, 40, 0)
    assert (free.cost, free.unpriced, sum_of_scores(free)) == (0.0, 0, 0.0)
    assert free.cost_saved == pytest.approx(paid.cost)
    assert cost_text(free)["cost"] == "$0.00"
    rates = [(row.model, row.cost_per_thousand) for row in leaderboard(free)]
    assert rates == [(row.model, row.cost_per_thousand) for row in leaderboard(paid)]
    assert sum((rate or 0) * 20 / 1000 for _, rate in rates) == pytest.approx(paid.cost)


def test_what_is_unknown_is_counted_not_guessed(alice, both, simulator, priced):
    """A model without a price; and of the calls that failed, those that brought an answer."""
    priced.prices = {"sim-small": priced.prices["sim-small"]}
    priced.save()
    simulator.play(
        {"match": {"model": "sim-small"}, "times": 2, "do": "malformed"},
        {"match": {"model": "sim-small"}, "times": 2, "do": "status", "status": 500},
    )
    once = {**both["limits"], "attempts": 1}
    with running_worker():
        some = finish(create_run(alice, {**both, "limits": once, "models": both["models"][:1]}))
        run = finish(create_run(alice, {**both, "cache": "off"}))
    assert run.cost == pytest.approx(cost_by_tokens(run, priced, "sim-small"))
    assert run.unpriced == run.scores.filter(cost__isnull=True).count() == 20
    assert cost_text(run)["cost"].endswith(" + 20 calls of unknown price")
    assert some.failed == some.scores.filter(cost__isnull=True).count() == 4
    assert some.unpriced == some.scores.filter(error_class="malformed_answer").count() == 2
    assert some.cost == pytest.approx(sum_of_scores(some))
    assert cost_text(some)["cost_context"].startswith("+ 2 of unknown price, ")


def test_other_kinds_of_endpoints_run_and_cost_alike(alice, both, simulator, priced, monkeypatch):
    place = simulator.url.removeprefix("http://")
    monkeypatch.setenv("EVALSITE_ALLOWED_PRIVATE_ENDPOINTS", place)
    kinds = {EndpointKind.ANTHROPIC: "/v1", EndpointKind.OLLAMA: "", EndpointKind.AZURE: ""}
    found = {}
    with running_worker():
        usual = finish(create_run(alice, both))
        for seed, (kind, suffix) in enumerate(kinds.items(), 2):
            priced.kind, priced.base_url = kind, simulator.url + suffix
            priced.save()
            run = finish(create_run(alice, {**both, "seed": seed}))
            counts = (run.done, run.failed, run.cached, run.value_sum)
            found[kind] = (*counts, round(run.cost, 12), run.reason)
    assert usual.cost > 0
    alike = (40, 0, 0, usual.value_sum, round(usual.cost, 12), usual.reason)
    assert found == dict.fromkeys(kinds, alike)


def warnings_of(run):
    return list(run.events.filter(kind="budget").values_list("message", flat=True))


def paused_after_warning(run, simulator, warnings):
    """Calls wait until what is stored warns. Else a worker might stop the run before the other one
    has written anything, and of a run that is stopped nobody is warned."""
    wait_until(lambda: len(warnings_of(run)) == warnings)
    simulator.change(hold_after=None)
    return paused(run)


@pytest.mark.postgresql("counts: two workers write those of one run")
def test_not_one_call_more_than_the_budget_and_on_with_it_when_it_is_raised(alice, few, simulator):
    simulator.change(hold_after=26)
    with running_worker(), running_worker():
        run = create_run(alice, {**few, "repeats": 3, "budget": {"calls": 30}})
        paused_after_warning(run, simulator, 1)
        assert simulator.ledger()["total"] == run.calls_sent == run.done == 30
        # Workers see it first, or what is stored does: one text says how much that was.
        assert run.reason.startswith("The budget of 30 calls is used up")
        assert run.reason.endswith(": raise it to resume, or cancel the run")
        assert not run.chunks.filter(state=ChunkState.LEASED).exists()
        assert len(warnings_of(run)) == 1
        assert warnings_of(run)[0].startswith("80 % of the budget is used: ")
        with pytest.raises(ConfigurationError, match="Raise it to resume the run"):
            resume_run(run, alice)
        assert retune_run(run, alice, {"budget": {"calls": 50}}, "worth it")
        simulator.change(hold_after=14)
        assert resume_run(run, alice)
        paused_after_warning(run, simulator, 2)
        assert simulator.ledger()["total"] == run.calls_sent == 50
        assert len(warnings_of(run)) == 2
        assert retune_run(run, alice, {"budget": {"calls": None}}, "go on")
        assert resume_run(run, alice)
        finish(run)
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED, 60, 0)
    assert simulator.ledger()["total"] == 60


def test_retries_count_and_a_budget_of_just_enough_lets_the_run_complete(alice, few, simulator):
    simulator.play({"match": {}, "times": 3, "do": "status", "status": 500})
    with running_worker():
        run = finish(create_run(alice, {**few, "budget": {"calls": 23}}))
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED, 20, 0)
    assert simulator.ledger()["total"] == run.calls_sent == 23


def test_dollars_are_reserved_before_they_are_spent(alice, document, simulator, priced):
    document["cache"] = "off"
    with running_worker(), running_worker():
        whole = finish(create_run(alice, document))
        dearest = max(cost or 0.0 for cost in whole.scores.values_list("cost", flat=True))
        budget = whole.cost / 2
        assert budget > FIRST_GUESS
        run = paused(create_run(alice, {**document, "budget": {"dollars": budget}}))
        assert "is used up" in run.reason
        assert budget - FIRST_GUESS < run.cost < budget + SLOTS * dearest
        with pytest.raises(ConfigurationError):
            resume_run(run, alice)
        assert retune_run(run, alice, {"budget": {"dollars": whole.cost * 2}}, "worth it")
        assert resume_run(run, alice)
        finish(run)
    assert (run.state, run.done) == (RunState.COMPLETED, 120)
    assert run.cost == pytest.approx(whole.cost)


def test_a_budget_holds_when_redis_forgets_everything(alice, few, simulator, monkeypatch):
    simulator.change(hold_after=30)
    with running_worker(), running_worker():
        run = create_run(alice, {**few, "repeats": 5, "budget": {"calls": 50}})
        wait_until(lambda: simulator.ledger()["total"] == 30 + SLOTS)
        shared_redis().flushall()
        # Told by whoever asks first, or stored: all but those in flight, as it should be.
        state = f"permits:state:run:{run.pk}"
        wait_until(lambda: int(shared_redis().hget(state, "calls_used") or 0) >= 30)
        simulator.change(hold_after=None)
        monkeypatch.setattr(recovery, "RESEND_AFTER", timedelta())  # messages were lost, too
        sweep()
        paused(run)
    assert 50 <= simulator.ledger()["total"] <= 50 + SLOTS


def test_calls_of_a_worker_that_died_were_sent_too(alice, few, simulator):
    simulator.change(hold_after=20)
    with running_worker(threads=8) as doomed:
        run = create_run(alice, {**few, "repeats": 5, "budget": {"calls": 60}})
        wait_until(lambda: simulator.ledger()["total"] == 20 + SLOTS)
        kill(doomed, run)
    simulator.change(hold_after=None)
    with running_worker():
        paused(run)
        assert simulator.ledger()["total"] <= 60
        assert "is used up" in run.reason
        assert run.calls_sent == run.done <= 60
        with pytest.raises(ConfigurationError):
            resume_run(run, alice)


def test_slots_are_shared_by_all_runs_of_a_person(alice, bob, root, few, simulator):
    simulator.change(latency_ms=20, gather=4)
    set_person_quota(root, alice.pk, {"slots": 4})
    Dataset.objects.update(is_shared=True)
    with running_worker(), running_worker():
        for run in [create_run(alice, {**few, "seed": seed}) for seed in (1, 2)]:
            assert finish(run).state == RunState.COMPLETED
        peak = simulator.ledger()["peak_in_flight"]
        simulator.reset()
        simulator.change(gather=5)
        finish(create_run(bob, few))
    assert peak == 4
    assert simulator.ledger()["peak_in_flight"] > 4  # nobody else has that limit


@pytest.mark.postgresql("dates: what a person spent on a day")
def test_the_day_pauses_a_run_and_nothing_of_it_is_lost(alice, root, both, priced, simulator):
    both["cache"] = "off"
    with running_worker():
        whole = finish(create_run(alice, both))  # what all of it costs
    already = spent_on_day(alice.pk, whole.created)
    assert already == pytest.approx(whole.cost)
    slow = {**both, "limits": {**both["limits"], "max_concurrent": 4}, "seed": 3}
    run = create_run(alice, slow)
    set_person_quota(root, alice.pk, {"dollars_per_day": already + whole.cost / 3})
    simulator.change(hold_after=24)  # of 40; the quota is worth 14
    with running_worker():
        wait_until(lambda: is_in(run, *RunState.held()))
        simulator.change(hold_after=None, latency_ms=1000)  # what is left would take long
        paused(run)
        assert 0 < run.done < run.planned
        assert "a day of its owner are used up" in run.reason
        assert run.scores.count() == run.done == run.calls_sent
        assert run.stored_bytes > 400 * run.done
        simulator.change(latency_ms=0)
        set_person_quota(root, alice.pk, {"dollars_per_day": None})
        assert resume_run(run, alice)
        assert finish(run).state == RunState.COMPLETED
    assert run.calls_sent == run.planned  # no trial was asked for twice
