"""The person that most stories are about, and a clock that Redis has in some."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.selectors.endpoints import permit_state
from tests.harness.factories import make_person
from workers import redis_permits


@pytest.fixture
def alice(db: None) -> User:
    return make_person("alice")


@pytest.fixture
def still_permits() -> Iterator[None]:
    """Permits on a clock that stands still: no lease ends, no breaker rests enough, no rate has
    room again and no minute is over while a test says and reads them."""
    moment = int(time.time())
    known, ask = "redis.call('TIME')", permit_state.ask
    assert known in redis_permits.EXCHANGE

    def ask_at_that_moment(client: Any, keys: list[str]) -> list[Any]:
        return [(moment, 0), *ask(client, keys)[1:]]

    with pytest.MonkeyPatch.context() as patch:
        script = redis_permits.EXCHANGE.replace(known, f"{{{moment}, 0}}")
        patch.setattr(redis_permits, "EXCHANGE", script)
        patch.setattr(permit_state, "ask", ask_at_that_moment)
        yield
