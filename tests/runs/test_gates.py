"""Runs of a configuration are held to its baseline and gates, as they were at the launch."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils.timezone import now

from runs.models import Run, RunEvent, RunGate, RunState
from runs.services.configurations import save_configuration
from runs.services.control.retrying import retry_failed
from runs.services.gating import CLAIMED_FOR, judge_ended, open_gate, reopen_gate, set_gate
from runs.services.runs import Source, create_run
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, run_document
from tests.runs.comparing_parts import make_scored
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db

CASES = 20
GOOD, BAD = [1.0] * CASES, [0.0] * CASES


@pytest.fixture
def dataset(alice, endpoint):
    return make_dataset(alice, rows=CASES)


@pytest.fixture
def stored(alice, dataset):
    return save_configuration(alice, "nightly", run_document(dataset))


def ended(stored, dataset, values, **fields):
    """A run of it with these values, not judged yet."""
    right = sum(value or 0.0 for value in values)
    counted: dict[str, Any] = dict.fromkeys(("done", "scored", "planned"), CASES)
    counted |= {"value_sum": right, "value_square_sum": right}
    made = {"configuration": stored, "configuration_version": stored.version}
    run = make_scored(stored.owner, dataset, values, **{**counted, **made, **fields})
    open_gate(run, stored)
    return run


JUDGED: dict[str, tuple[list[float], dict[str, Any], dict[str, Any], str]] = {
    "as good as the baseline": (GOOD, {}, {}, "passed"),
    "worse, and not by chance": (BAD, {}, {}, "regressed"),
    "one case worse may be chance": ([0.0, *GOOD[1:]], {}, {}, "passed"),
    "not one case worse": ([0.0, *GOOD[1:]], {}, {"max_regressions": 0}, "regressed"),
    "too dear": (GOOD, {"cost": 2.0}, {"max_cost": 1.0}, "failed"),
    "good enough": (GOOD, {}, {"min_score": 0.9}, "passed"),
    "cancelled is no regression": (BAD, {"state": RunState.CANCELLED}, {}, "failed"),
}
TOLD = {"passed": "It passed", "failed": "A gate", "regressed": "Reg"}


def test_a_run_is_judged_when_it_has_ended(alice, stored, dataset):
    baseline, found, runs = ended(stored, dataset, GOOD), {}, {}
    for case, (values, fields, gates, state) in JUDGED.items():
        set_gate(stored, alice, baseline, gates)
        run = runs[state] = ended(stored, dataset, values, **fields)
        assert (judge_ended(now()), judge_ended(now()), run.gate.state) == (1, 0, "pending")
        found[case] = RunGate.objects.get(run=run).state
        told = RunEvent.objects.filter(run=run).latest("pk").message
        assert told.startswith(TOLD[state]), case
    assert found == {case: state for case, (*_, state) in JUDGED.items()}
    of_all = client_of(alice).get(stored.get_absolute_url()).text
    for state, run in runs.items():
        shown = Asker(alice).get(f"/runs/{run.pk}").json()["gate"]
        assert (shown["state"], shown["baseline"]) == (state, baseline.pk)
        for page in (client_of(alice).get(run.get_absolute_url()).text, of_all):
            assert state.capitalize() in page


def test_what_is_under_way_waits_and_what_goes_on_is_judged_again(alice, stored, dataset):
    set_gate(stored, alice, None, {"min_score": 0.5})
    run = ended(stored, dataset, GOOD, state=RunState.RUNNING, ended=None)
    assert judge_ended(now()) == 0
    assert Asker(alice).get(f"/runs/{run.pk}").json()["gate"]["state"] == "pending"
    Run.objects.filter(pk=run.pk).update(state=RunState.COMPLETED)
    assert judge_ended(now()) == 1
    reopen_gate(run)
    assert judge_ended(now()) == 1
    reopen_gate(run)  # and a claim ends with the process that made it
    moment = now()
    RunGate.objects.update(claimed=moment)
    assert judge_ended(moment + CLAIMED_FOR - timedelta(seconds=1)) == 0
    assert judge_ended(moment + CLAIMED_FOR + timedelta(seconds=1)) == 1


def test_retrying_a_run_opens_its_gate(alice, stored, dataset):
    set_gate(stored, alice, None, {"min_score": 0.5})
    run = ended(stored, dataset, [None, *GOOD[1:]], failed=1, scored=CASES - 1)
    run.candidates.update(done=CASES, failed=1, scored=CASES - 1)
    run.chunks.create(start=0, trials=[[0, 0, 0, 0]], state="done")
    judge_ended(now())
    assert retry_failed(run, alice) == 1
    assert RunGate.objects.get().state == "pending"


def test_what_is_asked_is_frozen_at_the_launch(alice, stored, dataset):
    set_gate(stored, alice, None, {"min_score": 0.5})
    run = create_run(alice, stored.as_document, source=Source(configuration=stored))
    set_gate(stored, alice, None, {"min_score": 0.9})
    assert RunGate.objects.get(run=run).asked == {"min_score": 0.5}
    set_gate(stored, alice, None, {})
    free = create_run(alice, stored.as_document, source=Source(configuration=stored))
    assert not RunGate.objects.filter(run=free).exists()


def test_a_baseline_that_was_deleted_is_said(alice, stored, dataset):
    baseline = ended(stored, dataset, GOOD)
    set_gate(stored, alice, baseline, {})
    run = ended(stored, dataset, GOOD)
    number = baseline.pk
    baseline.delete()
    judge_ended(now())
    checks = Asker(alice).get(f"/runs/{run.pk}").json()["gate"]["checks"]
    assert f"Run {number} was deleted. Choose another baseline." in [one["told"] for one in checks]
    stored.refresh_from_db()
    assert stored.baseline is None


def test_only_a_complete_run_with_the_same_scorers_is_a_baseline(alice, stored, dataset):
    going = ended(stored, dataset, GOOD, state=RunState.RUNNING)
    other = ended(stored, dataset, GOOD, document=run_document(dataset, scorers=["numeric"]))
    for run, told in ((other, "has other scorers"), (going, "is running. Choose a complete one")):
        answer = Asker(alice).ask("put", "/configuration-gates/nightly", {"baseline": run.pk})
        assert (answer.status_code, told in answer.json()["detail"]) == (422, True)
    address = reverse("configuration_baseline", args=[stored.pk])
    assert told in client_of(alice).post(address, {"baseline": run.pk}).text
    with pytest.raises(ConfigurationError):
        set_gate(stored, alice, None, {"alpha": 0.1})


def test_the_page_and_the_api_set_the_same_gate(alice, stored, dataset):
    run = ended(stored, dataset, GOOD)
    button = reverse("configuration_baseline", args=[stored.pk])
    assert "Use as baseline" in client_of(alice).get(stored.get_absolute_url()).text
    client_of(alice).post(button, {"baseline": run.pk})
    sent = {"baseline": run.pk, "min_score": "0.75", "max_regressions": "2"}
    client_of(alice).post(reverse("configuration_gate", args=[stored.pk]), sent)
    asked = Asker(alice).get("/configuration-gates/nightly").json()
    assert (asked["baseline"], asked["min_score"], asked["max_regressions"]) == (run.pk, 0.75, 2)
    refused = client_of(alice).post(
        reverse("configuration_gate", args=[stored.pk]), {"baseline": 10**6, "max_error_rate": 0.5}
    )
    assert refused.status_code == 400
    assert "There is no such run that you may see" in refused.text
    Asker(alice).ask("put", "/configuration-gates/nightly", {})
    assert Asker(alice).get("/configuration-gates/nightly").json()["baseline"] is None
