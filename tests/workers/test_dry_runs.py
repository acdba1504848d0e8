"""A dry run makes the first trials of a run, through the same cache, limits and prices."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils.timezone import now

from runs.access import datasets_to_run_on
from runs.models import CachedReply, DryRun, Run
from runs.roles import Role
from runs.selectors.dry_results import bill_text
from runs.selectors.estimates.estimate import estimate
from runs.selectors.quotas import spent_on_day
from runs.services.dry_runs import try_first
from runs.services.people.quotas import set_person_quota
from runs.services.removing.erasing import erase_person
from tests.harness.factories import client_of, make_person
from tests.harness.patience import PATIENCE_SECONDS
from workers.engine.dry_run import first_trials
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.spec.documents import write_document

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Who asks on the page waits for half a minute only."""
    monkeypatch.setattr(try_first, "__defaults__", (PATIENCE_SECONDS,))


def test_it_tries_different_candidates_which_the_cache_keeps_until_the_person_is_erased(
    alice, document, priced, simulator
):
    before = estimate(document, datasets_to_run_on(alice), alice)
    result = try_first(alice, document)
    assert len({one.candidate.key for one in result.trials}) == 3
    assert [bool(score.answer) for score in result.scores] == [True] * 3
    assert result.calls == sum(simulator.ledger()["by_model"].values()) == 3
    after = estimate(document, datasets_to_run_on(alice), alice)
    assert (before.calls_cached, after.calls_cached) == (0, 3)
    assert result.cost > 0
    assert spent_on_day(alice.pk, DryRun.objects.get().created) == pytest.approx(result.cost)
    again = try_first(alice, document)
    assert (again.calls, again.cost) == (0, 0)
    assert [score.answer for score in again.scores] == [score.answer for score in result.scores]
    assert not Run.objects.exists()
    kept = CachedReply.objects.count()
    try_first(alice, {**document, "cache": "off"})
    assert (CachedReply.objects.count(), DryRun.objects.latest("pk").calls) == (kept, 3)
    erase_person(alice, make_person("root", role=Role.ADMIN))
    assert not CachedReply.objects.exists()


def test_what_it_asks_is_what_the_run_asks_first(document):
    one = {"models": ["simulated/sim-small"], "prompts": document["prompts"][:1]}
    trials = first_trials(read_configuration({**document, **one}), 20).trials
    found = [(trial.position, trial.case, trial.repeat) for trial in trials]
    assert found == [(number, number, 0) for number in range(3)]


def test_calls_that_take_too_long_are_not_waited_for(alice, document, simulator):
    simulator.change(latency_ms=600_000)
    result = try_first(alice, document, deadline_seconds=0.5)
    assert [one.score for one in result.trials] == [None] * 3
    assert bill_text(0, 0.0, 0, result.unfinished, "use") == "3 trials did not end in time."
    assert DryRun.objects.get().calls == 0


def test_a_budget_holds_and_a_pipeline_shows_all_its_calls(alice, document, selection, simulator):
    result = try_first(alice, {**document, "budget": {"calls": 1}})
    assert sum(simulator.ledger()["by_model"].values()) == 1
    assert len(result.scores) == 1
    assert [len(score.calls) for score in try_first(alice, selection).scores] == [2, 2, 2]


def test_whose_day_is_used_up_tries_nothing(alice, document, priced, simulator):
    admin = make_person("root", role=Role.ADMIN)
    set_person_quota(admin, alice.pk, {"dollars_per_day": 1.0})
    for days in (0, 1):  # midnight may be near
        DryRun.objects.create(owner=alice, cost=1.0, created=now() + timedelta(days=days))
    with pytest.raises(ConfigurationError, match=r"Of your \$1\.00 a day"):
        try_first(alice, document)
    assert sum(simulator.ledger()["by_model"].values()) == 0


def test_the_page_says_what_is_wrong_or_answers_and_their_cost(alice, document, priced, simulator):
    wrong = {"mode": "yaml", "yaml": write_document({**document, "models": ["gone/model"]})}
    part = client_of(alice).post(reverse("run_dry"), wrong, headers={"X-Part": "dry-run"}).text
    assert "Nothing was sent." in part
    assert "gone" in part
    assert not DryRun.objects.exists()
    sent = {"mode": "yaml", "yaml": write_document(document)}
    part = client_of(alice).post(reverse("run_dry"), sent, headers={"X-Part": "dry-run"}).text
    assert "3 calls sent, $" in part
    assert "does not pay for them again" in part
    assert part.count("<html") == 0
    whole = client_of(alice).post(reverse("run_dry"), sent).text
    assert "Nothing was sent: every answer is in the cache." in whole
    assert "data-new-run" in whole
