"""Cases of a slice, and cases that a kind makes itself, through a real worker."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.timezone import now

from runs.kinds import SITE_KINDS
from runs.models import Case, Dataset, Run
from runs.selectors.case_sources import positions_of
from runs.selectors.comparing.comparison import compare_runs
from runs.selectors.runs.stored_history import stored_history
from runs.selectors.scores.lines import read_lines
from runs.services.datasets.storing import DatasetError, store_rows
from runs.services.removing.retention import prune_runs
from runs.services.runs import create_run
from tests import toy_kind
from tests.harness.factories import client_of, make_person
from tests.workers.working import finish, running_worker
from workers.engine.kinds import KINDS
from workers.engine.records import EVALUATE
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)


def of_sums(**part: Any) -> dict[str, Any]:
    return {"dataset": {"name": "sums", **part}}


def test_a_slice_runs_on_its_rows_and_is_compared_row_by_row(
    ada: User, document: dict[str, Any], selection: dict[str, Any], simulator: SimulatorClient
) -> None:
    with running_worker():
        some = finish(create_run(ada, document | of_sums(sample=8, seed=3)))
        others = finish(create_run(ada, document | of_sums(sample=8, seed=4)))
        every = finish(create_run(ada, document))
        choice = finish(create_run(ada, selection | of_sums(sample=8, seed=3)))
    taken = set(some.scores.values_list("case__position", flat=True))
    assert taken == set(positions_of(some))
    assert (len(taken), some.done, some.failed) == (8, 8 * 6, 0)
    assert taken != set(range(8))
    expected = dict(Case.objects.filter(dataset=some.dataset).values_list("position", "fields"))
    for record in read_lines(some):
        assert record["question"] == expected[record["case"]]["question"]
    whole = compare_runs(some, every)
    assert (whole.pairs, whole.changed()) == (48, [])  # the same rows have the same verdicts
    shared = taken & set(positions_of(others))
    assert 0 < len(shared) < 8
    assert compare_runs(some, others).pairs == len(shared) * 6
    # Its strategy is replayed from numbers within the slice, whatever the rows' positions are.
    assert {score.trial.case for score in stored_history(choice)} <= set(range(8))
    assert (choice.state, choice.failed) == ("completed", 0)
    assert set(choice.scores.values_list("case__position", flat=True)) <= taken


@pytest.fixture
def made(document: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    for name, kind in toy_kind.TOYS.items():
        monkeypatch.setitem(KINDS, name, kind)
    monkeypatch.setitem(SITE_KINDS, "made_toy", "tests.toy_site.MadeToySite")
    kept = {name: document[name] for name in ("name", "scorers", "limits")}
    prompt = {"name": "first", "system": "Answer with the number only."}
    model = "simulated/sim-small"
    return {
        **kept,
        "kind": "made_toy",
        "seed": 30,
        "prompt": prompt,
        "model": model,
        "rounds": 2,
        "sums": 5,
    }


def test_cases_that_a_kind_makes_belong_to_its_runs(
    ada: User, made: dict[str, Any], simulator: SimulatorClient
) -> None:
    with running_worker(also=toy_kind.__name__):
        run = finish(create_run(ada, made))
        twin = finish(create_run(ada, made))
        other = finish(create_run(ada, made | {"sums": 3}))
    assert (run.state, run.done, run.failed) == ("completed", 10, 0)
    assert "dataset" not in run.document
    assert run.dataset == twin.dataset != other.dataset
    assert {line["question"] for line in read_lines(run) if line["role"] == EVALUATE} == {
        f"What is {number} + 30?" for number in range(5)
    }
    assert compare_runs(run, twin).pairs == 10
    assert compare_runs(run, other).pairs == 6  # the three sums that both have
    client = client_of(ada)
    trial = client.get(reverse("trial", args=[run.pk, 0])).content.decode()
    assert "What is 0 + 30?" in trial
    about = client.get(reverse("run_configuration", args=[run.pk])).content.decode()
    assert "5 rows" in about
    assert client.get(run.dataset.get_absolute_url()).status_code == 200
    again = client.get(reverse("run_new"), {"run": run.pk}).context["filled"]
    assert (again.mode, "dataset:" in again.yaml) == ("yaml", False)
    client.post(reverse("run_new"), {"mode": "yaml", "yaml": again.yaml, "key": "again"})
    duplicate = Run.objects.latest("pk")
    assert (duplicate.pk > other.pk, duplicate.dataset) == (True, run.dataset)
    duplicate.delete()
    stranger = client_of(make_person("bob"))
    assert stranger.get(run.dataset.get_absolute_url()).status_code == 404
    for page in (reverse("datasets"), reverse("run_new")):
        assert "cases made by" not in client.get(page).content.decode()
    with pytest.raises(DatasetError, match="so are called rows of runs"):
        store_rows(ada, "cases made by toy", [{"question": "1?"}])
    prune_runs(now() + timedelta(days=1))
    assert not Dataset.objects.filter(is_hidden=True).exists()
    assert Dataset.objects.filter(name="sums").exists()
