"""Quotas of a person through real workers: the provider's ledger is the judge."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import Dataset, Endpoint, Run, RunState
from runs.selectors.quotas import spent_on_day
from runs.services.control.resuming import resume_run
from runs.services.people.quotas import set_person_quota
from runs.services.runs import create_run
from tests.harness.factories import make_person
from tests.harness.patience import wait_until
from tests.workers.test_costs import LARGE, SMALL
from tests.workers.working import finish, running_worker
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def admin(transactional_db: None) -> User:
    return make_person("root", staff=True)


def test_slots_are_shared_by_all_runs_of_a_person(
    ada: User, admin: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(latency_ms=20, gather=4)
    set_person_quota(admin, ada.pk, {"slots": 4})
    others = make_person("bob")
    Dataset.objects.update(is_shared=True)
    with running_worker(), running_worker():
        runs = [create_run(ada, {**document, "seed": seed, "cache": "off"}) for seed in (1, 2)]
        for run in runs:
            assert finish(run).state == RunState.COMPLETED
        peak = simulator.ledger()["peak_in_flight"]
        simulator.reset()
        simulator.change(gather=5)
        finish(create_run(others, {**document, "cache": "off"}))
    assert peak == 4
    assert simulator.ledger()["peak_in_flight"] > 4  # nobody else has that limit


def test_the_day_pauses_a_run_and_nothing_of_it_is_lost(
    ada: User,
    admin: User,
    document: dict[str, Any],
    endpoint: Endpoint,
    simulator: SimulatorClient,
) -> None:
    endpoint.prices = {"sim-small": SMALL, "sim-large": LARGE}
    endpoint.save()
    simulator.change(latency_ms=20)
    document["cache"] = "off"
    with running_worker():
        whole = finish(create_run(ada, document))  # what all of it costs
    already = spent_on_day(ada.pk, whole.created)
    assert already == pytest.approx(whole.cost)
    few = {"limits": {**document["limits"], "max_concurrent": 4}}
    run = create_run(ada, {**document, **few, "seed": 3})
    set_person_quota(admin, ada.pk, {"dollars_per_day": already + whole.cost / 3})
    simulator.change(hold_after=60)  # of 120; the quota is worth 40
    with running_worker():
        wait_until(lambda: Run.objects.get(pk=run.pk).state in RunState.held())
        simulator.change(hold_after=None, latency_ms=1000)  # what is left would take long
        wait_until(lambda: Run.objects.get(pk=run.pk).state == RunState.PAUSED)
        run.refresh_from_db()
        assert 0 < run.done < run.planned
        assert "a day of its owner are used up" in run.reason
        assert run.scores.count() == run.done == run.calls_sent
        assert run.stored_bytes > 400 * run.done
        simulator.change(latency_ms=0)
        set_person_quota(admin, ada.pk, {"dollars_per_day": None})
        assert resume_run(run, ada)
        assert finish(run).state == RunState.COMPLETED
    assert run.calls_sent == run.planned  # no trial was asked for twice
