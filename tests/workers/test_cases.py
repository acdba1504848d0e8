"""Which cases a run is made of, and its column of expected answers."""

import json
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils.timezone import now

from runs.kinds import SITE_KINDS
from runs.kinds.select.standing import selection_of
from runs.models import Case, Dataset, Run
from runs.selectors.case_sources import positions_of
from runs.selectors.comparing.comparison import compare_runs
from runs.selectors.runs.stored_history import stored_history
from runs.selectors.scores.lines import read_lines
from runs.services.datasets.storing import (
    DatasetError,
    import_dataset,
    set_expected_column,
    store_rows,
)
from runs.services.removing.retention import prune_runs
from runs.services.runs import create_run
from tests import toy_kind
from tests.harness.factories import client_of, make_person, toy_document
from tests.workers.working import finish, running_worker
from workers.engine.kinds import KINDS
from workers.engine.records import EVALUATE
from workers.simulator.demo import make_questions

pytestmark = pytest.mark.django_db(transaction=True)


def of_sums(**part):
    return {"dataset": {"name": "sums", **part}}


def test_a_slice_runs_on_its_rows_and_is_compared_row_by_row(alice, both, selection, simulator):
    with running_worker():
        some = finish(create_run(alice, both | of_sums(sample=8, seed=3)))
        others = finish(create_run(alice, both | of_sums(sample=8, seed=4)))
        every = finish(create_run(alice, both))
        choice = finish(create_run(alice, selection | of_sums(sample=8, seed=3)))
    taken = set(some.scores.values_list("case__position", flat=True))
    assert taken == set(positions_of(some))
    assert (len(taken), some.done, some.failed) == (8, 8 * 2, 0)
    assert taken != set(range(8))
    expected = dict(Case.objects.filter(dataset=some.dataset).values_list("position", "fields"))
    for record in read_lines(some):
        assert record["question"] == expected[record["case"]]["question"]
    whole = compare_runs(some, every)
    assert (whole.pairs, whole.changed()) == (16, [])  # the same rows have the same verdicts
    shared = taken & set(positions_of(others))
    assert 0 < len(shared) < 8
    assert compare_runs(some, others).pairs == len(shared) * 2
    # Its strategy is replayed from numbers within the slice, whatever the rows' positions are.
    assert {score.trial.case for score in stored_history(choice)} <= set(range(8))
    assert (choice.state, choice.failed) == ("completed", 0)
    assert set(choice.scores.values_list("case__position", flat=True)) <= taken


@pytest.fixture
def made(document, monkeypatch):
    for name, kind in toy_kind.TOYS.items():
        monkeypatch.setitem(KINDS, name, kind)
    monkeypatch.setitem(SITE_KINDS, "made_toy", toy_kind.MADE_SITE)
    made = toy_document(document, kind="made_toy", seed=30, rounds=2, sums=5)
    return {name: made[name] for name in made if name not in {"dataset", "writer"}}


def test_cases_that_a_kind_makes_belong_to_its_runs(alice, made, simulator):
    with running_worker(also=toy_kind.__name__):
        run = finish(create_run(alice, made))
        twin = finish(create_run(alice, made))
        other = finish(create_run(alice, made | {"sums": 3}))
    assert (run.state, run.done, run.failed) == ("completed", 10, 0)
    assert "dataset" not in run.document
    assert run.dataset == twin.dataset != other.dataset
    assert {line["question"] for line in read_lines(run) if line["role"] == EVALUATE} == {
        f"What is {number} + 30?" for number in range(5)
    }
    assert compare_runs(run, twin).pairs == 10
    assert compare_runs(run, other).pairs == 6  # the three sums that both have
    client = client_of(alice)
    trial = client.get(reverse("trial", args=[run.pk, 0])).text
    assert "What is 0 + 30?" in trial
    about = client.get(reverse("run_configuration", args=[run.pk])).text
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
        assert "cases made by" not in client.get(page).text
    with pytest.raises(DatasetError, match="so are called rows of runs"):
        store_rows(alice, "cases made by toy", [{"question": "1?"}])
    prune_runs(now() + timedelta(days=1))
    assert not Dataset.objects.filter(is_hidden=True).exists()
    assert Dataset.objects.filter(name="sums").exists()


def solution(expected):
    """As GSM8K writes them: the way, then the number."""
    return f"First 7 of them, then 3 more, <<7+3=10>>10 less.\n#### {expected}"


@pytest.fixture
def gsm8k(alice):
    rows = [{"question": q.question, "answer": solution(q.expected)} for q in make_questions(20)]
    return import_dataset(alice, "gsm8k", "\n".join(map(json.dumps, rows)), "jsonl")


def test_the_first_rows_are_judged_by_a_column_they_name(alice, both, selection, gsm8k, simulator):
    assert gsm8k.expected_column == "answer"
    with running_worker():
        some = finish(create_run(alice, both | {"dataset": {"name": "gsm8k", "first": 5}}))
        every = finish(create_run(alice, both | {"dataset": "gsm8k"}))
        same = finish(create_run(alice, both))
        choice = finish(create_run(alice, selection | {"dataset": {"name": "gsm8k", "first": 6}}))
    assert (choice.state, choice.failed) == ("completed", 0)
    assert max(choice.scores.values_list("case__position", flat=True)) == 5
    assert selection_of(choice).brute_force == 4 * 6
    assert (some.state, some.planned, some.done, some.failed) == ("completed", 10, 10, 0)
    assert (every.done, every.failed) == (40, 0)
    assert set(some.scores.values_list("case__position", flat=True)) == set(range(5))
    # The same questions with their answers in a column named expected: the same verdicts.
    verdicts = [
        list(run.scores.order_by("position").values_list("passed")) for run in (every, same)
    ]
    assert verdicts[0] == verdicts[1]
    assert {True, False} == {passed for (passed,) in verdicts[0]}
    found = compare_runs(some, every)
    assert (found.pairs, found.changed()) == (10, [])
    set_expected_column(gsm8k, "question")
    assert some.document["expected"] == "answer"
    page = client_of(alice).get(reverse("trial", args=[some.pk, 0])).text
    assert "#### " in page
    assert "column answer" in page
    about = client_of(alice).get(reverse("run_configuration", args=[some.pk])).text
    assert "5 of 20 rows" in " ".join(about.split())
