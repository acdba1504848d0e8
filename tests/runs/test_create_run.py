"""Launching: everything is checked first, then stored whole, once."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from runs.models import Candidate, Chunk, Dataset, Endpoint, EndpointKind, Run
from runs.services.datasets.storing import store_rows
from runs.services.demo import start_demo
from runs.services.runs import cancel_run, create_run
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db

MANY = [{"question": str(n), "expected": "1"} for n in range(10)]


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def document(ada: User) -> dict[str, Any]:
    Endpoint.objects.create(name="simulated", kind=EndpointKind.SIMULATED)
    rows = [{"question": "What is 2 + 3?", "expected": "5"}] * 3
    store_rows(ada, "sums", rows, share=True)
    return {
        "name": "sums",
        "kind": "evaluate",
        "dataset": "sums",
        "prompts": [{"name": "a"}, {"name": "b", "system": "Be brief."}],
        "models": ["simulated/sim-small"],
        "repeats": 2,
        "scorers": ["exact"],
    }


def test_a_run_freezes_what_it_depends_on(ada: User, document: dict[str, Any]) -> None:
    run = create_run(ada, document)
    assert (run.state, run.planned) == ("queued", 2 * 1 * 3 * 2)
    assert run.document["dataset"] == "sums@1"
    assert run.snapshot_of["endpoints"]["simulated"]["max_concurrent"] == 20
    assert [c.name for c in run.candidates.all()] == [
        "a · simulated/sim-small",
        "b · simulated/sim-small",
    ]
    store_rows(ada, "sums", [{"question": "changed", "expected": "1"}])
    assert Run.objects.get(pk=run.pk).dataset.version == 1


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"dataset": "none"}, "dataset", "Choose one of: sums"),
        ({"models": ["elsewhere/x"]}, "models.0.endpoint", "Choose one of: simulated"),
        (
            {"prompts": [{"name": "a", "user": "{{answer}}"}]},
            "prompts.0.user",
            "question, expected",
        ),
        (
            {"dataset": {"rows": [{"question": "a"}, {"other": "b"}]}},
            "dataset.rows.2",
            "lacks 'question'",
        ),
        (
            {
                "repeats": 1000,
                "prompts": [{"name": str(n)} for n in range(500)],
                "dataset": {"rows": MANY},
            },
            "",
            "2,000,000",
        ),
    ],
)
def test_a_bad_document_stores_nothing(
    ada: User, document: dict[str, Any], change: dict[str, Any], path: str, words: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        create_run(ada, {**document, **change})
    assert words in dict(caught.value.problems)[path]
    assert not Run.objects.exists()
    assert not Candidate.objects.exists()
    assert not Chunk.objects.exists()


def test_rows_given_in_place_belong_to_their_runs(ada: User, document: dict[str, Any]) -> None:
    rows = [{"question": "What is 1 + 1?", "expected": "2"}]
    first = create_run(ada, {**document, "dataset": {"rows": rows}})
    second = create_run(ada, {**document, "dataset": {"rows": rows}})
    assert first.dataset == second.dataset == Dataset.objects.get(is_hidden=True)
    assert first.document["dataset"] == f"{first.dataset.name}@1"
    bob = User.objects.create_user("bob")
    assert create_run(bob, {**document, "dataset": {"rows": rows}}).dataset != first.dataset


def test_the_same_key_gives_the_same_run(ada: User, document: dict[str, Any]) -> None:
    first = create_run(ada, document, "key-1")
    assert create_run(ada, document, "key-1") == first
    assert create_run(ada, document, "key-2") != first
    bob = User.objects.create_user("bob")
    assert create_run(bob, document, "key-1") != first


@pytest.mark.django_db(transaction=True)
def test_twenty_launches_at_once_with_one_key_make_one_run(
    ada: User, document: dict[str, Any]
) -> None:
    def launch(_: int) -> int:
        try:
            return create_run(ada, document, "key-1").pk
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as pool:
        assert len(set(pool.map(launch, range(20)))) == 1
    assert Run.objects.count() == 1


def test_the_demo_brings_its_own_parts_and_changes_none(ada: User) -> None:
    run = start_demo(ada)
    assert run.planned == 3 * 2 * 60
    endpoint = Endpoint.objects.get(name="simulated")
    Endpoint.objects.update(max_concurrent=3)
    start_demo(ada)
    endpoint.refresh_from_db()
    assert endpoint.max_concurrent == 3
    assert Dataset.objects.count() == 1


def test_nobody_has_more_runs_going_on_than_allowed(
    ada: User, document: dict[str, Any], settings: Any
) -> None:
    settings.LIVE_RUNS = 2
    first = create_run(ada, document, "once")
    create_run(ada, document)
    with pytest.raises(ConfigurationError, match="You have 2 runs that have not ended"):
        create_run(ada, document)
    assert create_run(ada, document, "once") == first  # not a new one
    create_run(User.objects.create_user("bob"), document)
    cancel_run(first)
    create_run(ada, document)


def test_a_grid_of_a_billion_trials_is_refused_at_once_and_writes_nothing(
    ada: User, document: dict[str, Any]
) -> None:
    store_rows(ada, "sums", [{"question": str(n), "expected": "1"} for n in range(2000)])
    rows = Dataset.objects.count(), Run.objects.count(), Candidate.objects.count()
    prompts = [{"name": f"p{n}"} for n in range(500)]
    began = time.thread_time()
    with pytest.raises(ConfigurationError, match="1,000,000,000 trials"):
        create_run(ada, {**document, "prompts": prompts, "repeats": 1000})
    assert time.thread_time() - began < 0.3
    assert (Dataset.objects.count(), Run.objects.count(), Candidate.objects.count()) == rows
