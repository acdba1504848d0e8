"""What the workers' tests share: documents, and runs that other processes see, too."""

import pytest
import redis.asyncio

from runs.services.chunks.planning import advance_run
from runs.services.runs import create_run
from tests.harness.work import document, endpoint, selection, simulator

__all__ = ["document", "endpoint", "selection", "simulator"]


@pytest.fixture
def few(document):
    """One prompt and one model: 20 trials, none of them cached."""
    prompts, models = document["prompts"][:1], ["simulated/sim-small"]
    return {**document, "prompts": prompts, "models": models, "cache": "off"}


@pytest.fixture
def both(document):
    """One prompt and both models: 40 trials."""
    return {**document, "prompts": document["prompts"][:1]}


@pytest.fixture
async def client(settings):
    client = redis.asyncio.Redis.from_url(settings.REDIS_URL)
    yield client
    await client.aclose()


@pytest.fixture
def priced(endpoint):
    endpoint.prices = {
        "sim-small": {"input": 0.15, "output": 0.60},
        "sim-large": {"input": 2.50, "output": 10.0},
        "sim-embed": {"input": 0.02, "output": 0.0},
    }
    endpoint.save()
    return endpoint


@pytest.fixture
def run(alice, document):
    """Planned, and not begun."""
    run = create_run(alice, document)
    advance_run(run.pk)
    run.refresh_from_db()
    return run
