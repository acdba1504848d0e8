"""What the engine's tests share: a real simulated provider and a small configuration."""

import pytest

from tests.engine.running import KEY, SUFFIX, evaluation
from tests.harness.patience import PATIENCE_SECONDS
from workers.engine import http
from workers.engine.lanes import ProcessLane
from workers.engine.providers import PROVIDERS
from workers.engine.records import Case
from workers.simulator.demo import make_questions
from workers.simulator.testing import running_simulator


@pytest.fixture(scope="session", autouse=True)
def patient_client():
    """It calls only this machine here, which may take long to accept a connection."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http.client, "CONNECT_SECONDS", PATIENCE_SECONDS)
        patch.setattr(http.client, "LOOK_UP_SECONDS", PATIENCE_SECONDS)
        yield


@pytest.fixture(scope="session")
def shared_simulator():
    with running_simulator(latency_ms=0) as simulator:
        yield simulator


@pytest.fixture
def simulator(shared_simulator):
    """Reset for every test: no latency, no faults, an empty ledger."""
    shared_simulator.reset()
    no_limits = {"rpm": None, "max_in_flight": None, "gather": None}
    shared_simulator.change(latency_ms=0, jitter=0, error_rate=0, **no_limits)
    return shared_simulator


@pytest.fixture
async def client():
    async with http.Client() as opened:
        yield opened


@pytest.fixture
def connect(client, simulator):
    """A provider of a kind, on the simulated provider, which speaks all their protocols."""
    return lambda kind: PROVIDERS[kind](client, kind, simulator.url + SUFFIX[kind], KEY)


@pytest.fixture
async def lane():
    """One process, so that whoever comes next meets what the last one left."""
    lane = ProcessLane(60, size=1)
    yield lane
    await lane.close()


@pytest.fixture
def cases():
    return [Case(place, item._asdict()) for place, item in enumerate(make_questions(20))]


@pytest.fixture
def document():
    prompts = [
        {"name": "terse", "system": "Answer with the number only."},
        {"name": "hurried", "system": "You have no time. Answer with your first guess."},
    ]
    models = ["simulated/sim-small", "simulated/sim-large"]
    limits = {"max_concurrent": 8, "requests_per_minute": None, "timeout_seconds": 120}
    scorer, more = {"numeric": {"tolerance": 0.001}}, {"models": models, "limits": limits}
    return evaluation(scorer, name="sums", seed=7, prompts=prompts, **more)


@pytest.fixture
def selection(document):
    """Without steps."""
    kept = {name: document[name] for name in ("name", "seed", "dataset", "scorers", "limits")}
    return {**kept, "kind": "select", "strategy": "brute_force"}


@pytest.fixture
def plain(document):
    """One prompt and one model."""
    return {**document, "prompts": document["prompts"][:1], "models": ["simulated/sim-small"]}
