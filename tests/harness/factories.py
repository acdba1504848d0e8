"""People, runs and scores for tests of pages, stored as the services would have stored them."""

import zlib
from typing import Any

import redis
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils.timezone import now

from runs.models import (
    CachedReply,
    Candidate,
    Case,
    Dataset,
    Endpoint,
    EndpointKind,
    Run,
    RunState,
    Score,
    ScoreRecord,
)
from runs.roles import Role
from runs.selectors.health import forget_troubles
from runs.selectors.worker_beats import BEATS
from runs.services.datasets.storing import store_rows
from tests.harness.patience import PATIENCE_SECONDS
from workers.engine.json_text import to_json

PASSWORD = "correct horse battery"


def make_person(name: str, *, staff: bool = False, role: Role | None = Role.RUNNER) -> User:
    """Somebody who is signed in by `client_of`; a good password takes long to be stored."""
    return with_role(User.objects.create(username=name, is_staff=staff), role)


def make_person_with_password(name: str) -> User:
    return with_role(User.objects.create_user(name, password=PASSWORD), Role.RUNNER)


def with_role(person: User, role: Role | None) -> User:
    if role is not None:
        person.groups.add(Group.objects.get_or_create(name=role.value)[0])
    return person


def client_of(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def make_endpoint(name: str = "simulated") -> Endpoint:
    return Endpoint.objects.create(
        name=name, kind=EndpointKind.SIMULATED, model_names=["sim-small", "sim-large"]
    )


def make_dataset(owner: User, name: str = "sums", rows: int = 3, *, share: bool = False) -> Dataset:
    return store_rows(
        owner,
        name,
        [{"question": f"What is {row} + 1?", "expected": str(row + 1)} for row in range(rows)],
        share=share,
    )


def run_document(dataset: Dataset, **changes: Any) -> dict[str, Any]:
    return {
        "name": "first try",
        "kind": "evaluate",
        "dataset": f"{dataset.name}@{dataset.version}",
        "prompts": [{"name": "plain", "system": "", "user": "{{question}}"}],
        "models": ["simulated/sim-small"],
        "scorers": ["exact"],
        **changes,
    }


def make_run(owner: User, dataset: Dataset, **fields: Any) -> Run:
    """A run with one candidate per model of its document, and no scores yet."""
    document = run_document(dataset)
    given = {
        "name": document["name"],
        "kind": "evaluate",
        "state": RunState.COMPLETED,
        "document": document,
        "planned": dataset.rows,
        "started": now(),
        "ended": now(),
    }
    run = Run.objects.create(owner=owner, dataset=dataset, **{**given, **fields})
    add_candidate(run)
    return run


def add_candidate(run: Run, prompt: str = "plain", model: str = "sim-small") -> Candidate:
    position = run.candidates.count()
    return Candidate.objects.create(
        run=run,
        position=position,
        key=f"key{position}",
        name=f"{prompt} · simulated/{model}",
        document={
            "prompt": {"name": prompt, "system": "", "user": "{{question}}"},
            "model": {"endpoint": "simulated", "model": model, "parameters": {}},
        },
    )


def new_score(run: Run, case: Case, candidate: Candidate, position: int, **fields: Any) -> Score:
    given: dict[str, Any] = {
        "value": None if fields.get("error_class") else 1.0,
        "passed": None if fields.get("error_class") else True,
        "answer": "" if fields.get("error_class") else "4",
        "latency_ms": 100.0,
        "details": [["exact", 1.0, True, "is '4'"]],
        "attempts": [["call", "ok", 1.0, 100.0, ""]],
        "finished": now(),
    }
    return Score(run=run, case=case, candidate=candidate, position=position, **{**given, **fields})


def add_score(run: Run, case: Case, candidate: Candidate, position: int, **fields: Any) -> Score:
    score = new_score(run, case, candidate, position, **fields)
    score.save()
    return score


def add_record(score: Score, document: Any) -> ScoreRecord:
    packed = zlib.compress(to_json(document))
    return ScoreRecord.objects.create(
        score=score, run_id=score.run_id, size=len(to_json(document)), packed=packed
    )


def add_cached_reply(run: Run | None, key: str, **fields: Any) -> CachedReply:
    given = {
        "endpoint": "simulated",
        "model": "sim-small",
        "text": "4",
        "latency_ms": 100.0,
        "tokens_in": 12,
        "tokens_out": 3,
        "created": now(),
    }
    return CachedReply.objects.create(run=run, key=key, **{**given, **fields})


def beat(*names: str, seconds_ago: float = -PATIENCE_SECONDS) -> None:
    """As workers of these names would say that they live; they do so for the whole test."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        now = client.time()[0]
        client.zadd(BEATS, dict.fromkeys(names, now - seconds_ago))
    forget_troubles()


def toy_document(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Of the kind of tests/toy_kind.py, on what the document of an evaluation runs on."""
    kept = {name: document[name] for name in ("name", "dataset", "scorers", "limits")}
    prompt = {"name": "first", "system": "Answer with the number only."}
    models = {"model": "simulated/sim-small", "writer": "simulated/sim-large"}
    return {**kept, **models, "kind": "toy", "prompt": prompt, "rounds": 3, **changes}
