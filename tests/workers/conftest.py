"""What the workers' tests share: a simulated provider, a person, and a worker in this process."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import Endpoint, EndpointKind
from runs.services.datasets.storing import store_rows
from tests.harness.factories import make_person
from workers.simulator.demo import DEMO_PROMPTS, make_questions
from workers.simulator.testing import SimulatorClient, running_simulator


@pytest.fixture
def simulator(settings: Any) -> Iterator[SimulatorClient]:
    with running_simulator(latency_ms=0, jitter=0) as simulator:
        settings.SIMULATOR_URL = simulator.url
        yield simulator


@pytest.fixture
def ada(transactional_db: None) -> User:
    return make_person("ada")


@pytest.fixture
def endpoint(transactional_db: None) -> Endpoint:
    return Endpoint.objects.create(name="simulated", kind=EndpointKind.SIMULATED, max_concurrent=50)


@pytest.fixture
def document(ada: User, endpoint: Endpoint) -> dict[str, Any]:
    """3 prompts x 2 models x 20 questions."""
    store_rows(ada, "sums", [question._asdict() for question in make_questions(20)])
    return {
        "name": "sums",
        "kind": "evaluate",
        "dataset": "sums",
        "prompts": [prompt._asdict() for prompt in DEMO_PROMPTS],
        "models": ["simulated/sim-small", "simulated/sim-large"],
        "scorers": ["numeric"],
        "limits": {"max_concurrent": 12, "requests_per_minute": None, "timeout_seconds": 120},
    }


@pytest.fixture
def selection(document: dict[str, Any]) -> dict[str, Any]:
    """2 x 2 combinations of models on 20 questions."""
    models = ["simulated/sim-small", "simulated/sim-large"]
    terse = "Answer with the number only."
    kept = {name: document[name] for name in ("name", "dataset", "scorers", "limits")}
    return {
        **kept,
        "kind": "select",
        "seed": 5,
        "steps": [
            {"name": "planner", "system": terse, "user": "{{question}}", "models": models},
            {
                "name": "solver",
                "system": terse,
                "user": "What is {{planner}} + 0?",
                "models": models,
            },
        ],
        "strategy": {"name": "paired_elimination", "batch": 4},
    }
