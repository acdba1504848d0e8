"""The expected answer in a column of any name, the first rows of a dataset, and answers that cannot
be scored: through real workers."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from runs.kinds.select.standing import selection_of
from runs.models import Dataset, Run, RunState
from runs.selectors.comparing.comparison import compare_runs
from runs.services.datasets.storing import import_dataset, set_expected_column
from runs.services.runs import create_run
from tests.harness.factories import client_of
from tests.harness.patience import wait_until
from tests.workers.working import finish, running_worker
from workers.simulator.demo import make_questions
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)


def solution(expected: str) -> str:
    """As GSM8K writes them: the way, then the number."""
    return f"First 7 of them, then 3 more, <<7+3=10>>10 less.\n#### {expected}"


@pytest.fixture
def gsm8k(ada: User) -> Dataset:
    rows = [{"question": q.question, "answer": solution(q.expected)} for q in make_questions(20)]
    return import_dataset(ada, "gsm8k", "\n".join(map(json.dumps, rows)), "jsonl")


def test_the_first_rows_are_judged_by_the_column_that_the_dataset_names(
    ada: User, document: dict[str, Any], gsm8k: Dataset, simulator: SimulatorClient
) -> None:
    assert gsm8k.expected_column == "answer"
    with running_worker():
        some = finish(create_run(ada, document | {"dataset": {"name": "gsm8k", "first": 5}}))
        every = finish(create_run(ada, document | {"dataset": "gsm8k"}))
        same = finish(create_run(ada, document))
    assert (some.state, some.planned, some.done, some.failed) == ("completed", 30, 30, 0)
    assert (every.done, every.failed) == (120, 0)
    assert set(some.scores.values_list("case__position", flat=True)) == set(range(5))
    # The same questions with their answers in a column named expected: the same verdicts.
    verdicts = [
        list(run.scores.order_by("position").values_list("passed")) for run in (every, same)
    ]
    assert verdicts[0] == verdicts[1]
    assert {True, False} == {passed for (passed,) in verdicts[0]}
    found = compare_runs(some, every)
    assert (found.pairs, found.changed()) == (30, [])
    set_expected_column(gsm8k, "question")
    assert some.document["expected"] == "answer"
    page = client_of(ada).get(reverse("trial", args=[some.pk, 0])).content.decode()
    assert "#### " in page
    assert "column answer" in page
    about = client_of(ada).get(reverse("run_configuration", args=[some.pk])).content.decode()
    assert "5 of 20 rows" in " ".join(about.split())


def test_a_choice_sees_the_first_rows_only(
    ada: User, selection: dict[str, Any], gsm8k: Dataset, simulator: SimulatorClient
) -> None:
    with running_worker():
        run = finish(create_run(ada, selection | {"dataset": {"name": "gsm8k", "first": 6}}))
    assert (run.state, run.failed) == ("completed", 0)
    assert max(run.scores.values_list("case__position", flat=True)) == 5
    assert selection_of(run).brute_force == 4 * 6


def is_paused(run: Run) -> bool:
    run.refresh_from_db()
    return run.state == RunState.PAUSED


def test_a_run_whose_answers_cannot_be_scored_is_paused_and_says_what_to_do(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(latency_ms=5)
    rows = [{"question": f"What is {n} + 1?", "answer": "some"} for n in range(200)]
    import_dataset(ada, "words", "\n".join(map(json.dumps, rows)), "jsonl")
    with running_worker():
        run = create_run(ada, document | {"dataset": "words"})
        wait_until(lambda: is_paused(run))
    count, _, told = run.reason.partition(" ")
    assert 20 <= int(count) <= 20 + 2 * 12  # those of the last writing are counted, too
    assert told.startswith("trials in a row failed with “scorer error”: Case ")
    assert "Mend the dataset or the scorer, then duplicate the run" in run.reason
    assert simulator.ledger()["total"] <= 20 + 2 * 12  # a streak, and what the slots held
