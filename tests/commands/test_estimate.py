"""`manage.py estimate`: what a run would take, and what is wrong with it."""

import json
from pathlib import Path
from typing import Any

import pytest

from runs.models import Endpoint, Run
from tests.commands.conftest import command, write

pytestmark = pytest.mark.django_db(transaction=True)


def test_calls_cost_time_and_the_limit_are_told(file: Path, endpoint: Endpoint) -> None:
    Endpoint.objects.update(
        prices={name: {"input": 1, "output": 2} for name in ("sim-small", "sim-large")}
    )
    ran = command("estimate", file, "--json", "--set", "limits.requests_per_minute=60")
    found = json.loads(ran.out)
    assert (found["trials"], found["calls_to_send"], found["calls_cached"]) == (120, 120, 0)
    assert "60 requests per minute of this run" in found["limited_by"]
    assert found["cost_text"].startswith("$")
    text = command("estimate", file).out
    assert "120  (6 candidates x 20 cases x 1 repeat)" in text
    assert "Limited by  12 slots of this run; raising max_concurrent" in text
    assert not Run.objects.exists()


def test_every_problem_is_listed(file: Path, document: dict[str, Any]) -> None:
    write(file, {**document, "repeats": 0, "models": ["absent/x"], "colour": "red"})
    ran = command("estimate", file)
    assert (ran.exit_code, ran.out) == (2, "")
    assert "repeats" in ran.err
    assert "colour" in ran.err
