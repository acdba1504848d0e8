"""A kind whose trials have roles, on the command line."""

import csv
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.kinds import SITE_KINDS
from tests import toy_kind
from tests.commands.conftest import command, write
from workers.engine.kinds import KINDS
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def toy(
    tmp_path: Path, document: dict[str, Any], ada: User, monkeypatch: pytest.MonkeyPatch
) -> Path:
    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    monkeypatch.setitem(KINDS, "toy", toy_kind.Toy)
    monkeypatch.setitem(SITE_KINDS, "toy", toy_kind.SITE)
    kept = {name: document[name] for name in ("name", "dataset", "scorers", "limits")}
    prompt = {"name": "first", "system": "Answer with the number only."}
    models = {"model": "simulated/sim-small", "writer": "simulated/sim-large"}
    return write(
        tmp_path / "toy.yaml", {**kept, **models, "kind": "toy", "prompt": prompt, "rounds": 3}
    )


def test_in_this_process_roles_are_counted_apart(
    toy: Path, tmp_path: Path, simulator: SimulatorClient
) -> None:
    simulator.play({"match": {"contains": "Rewrite"}, "do": "status", "status": 400})
    exported, summary = tmp_path / "e.csv", tmp_path / "s.md"
    ran = command("run", toy, "--here", "--export", exported, "--summary", summary)
    assert ran.exit_code == 0
    assert ran.lines[0]["planned"] == 60
    assert ran.done["state"] == "completed_with_errors"
    assert ran.done["counts"] == {"planned": 60, "done": 40, "failed": 0, "cached": 0}
    roles = ran.done["roles"]
    assert (roles["propose"]["done"], roles["propose"]["failed"]) == (2, 1)
    assert roles["evaluate"]["sent"] == 40
    assert {line["name"] for line in ran.done["candidates"]} == {"first", "child 2"}
    assert "propose: 2 trials, 1 failed, 2 sent" in summary.read_text()
    with exported.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["role"] for row in rows].count("propose") == 2


def test_an_estimate_counts_the_calls_of_every_role(toy: Path, simulator: SimulatorClient) -> None:
    ran = command("estimate", toy, "--json")
    assert ran.lines[0]["calls_to_send"] == 3 * 20 + 2
    assert ran.lines[0]["trials"] == 3 * 20
