"""What runs need to be worked on: a simulated provider and documents. Conftests import these."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import Endpoint, EndpointKind
from runs.services.datasets.storing import store_rows
from workers.simulator.demo import DEMO_PROMPTS, make_questions
from workers.simulator.testing import running_simulator

MODELS = ["simulated/sim-small", "simulated/sim-large"]
TERSE = "Answer with the number only."


@pytest.fixture
def simulator(settings):
    with running_simulator(latency_ms=0, jitter=0) as simulator:
        settings.SIMULATOR_URL = simulator.url
        yield simulator


@pytest.fixture
def endpoint(transactional_db):
    return Endpoint.objects.create(name="simulated", kind=EndpointKind.SIMULATED, max_concurrent=50)


@pytest.fixture
def document(alice, endpoint):
    return sums_of(alice, 20)


def sums_of(owner: User, cases: int) -> dict[str, Any]:
    """3 prompts x 2 models x so many questions, which are stored."""
    store_rows(owner, "sums", [question._asdict() for question in make_questions(cases)])
    return {
        "name": "sums",
        "kind": "evaluate",
        "dataset": "sums",
        "prompts": [prompt._asdict() for prompt in DEMO_PROMPTS],
        "models": MODELS,
        "scorers": ["numeric"],
        "limits": {"max_concurrent": 12, "requests_per_minute": None, "timeout_seconds": 120},
    }


@pytest.fixture
def selection(document):
    """2 x 2 combinations of models on 20 questions."""
    kept = {name: document[name] for name in ("name", "dataset", "scorers", "limits")}
    second = {"name": "solver", "system": TERSE, "user": "What is {{planner}} + 0?"}
    return {
        **kept,
        "kind": "select",
        "seed": 5,
        "steps": [
            {"name": "planner", "system": TERSE, "user": "{{question}}", "models": MODELS},
            {**second, "models": MODELS},
        ],
        "strategy": {"name": "paired_elimination", "batch": 4},
    }
