"""What the tests of the commands share: a provider, a document to run, and the command line."""

import json
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError

from runs.management import simulating, surroundings
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.work import endpoint, simulator, sums_of

__all__ = ["endpoint", "simulator"]

CASES = 8  # fewer could not tell a regression from chance
TRIALS = 6 * CASES  # of `document`


@pytest.fixture(autouse=True)
def patient_commands():
    """They take nobody for absent who is only slow, and start no provider of their own instead."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (simulating, surroundings):
            patch.setattr(module, "ANSWER_WITHIN_SECONDS", PATIENCE_SECONDS)
        yield


@pytest.fixture
def ada(ada):
    """The first administrator, for whom commands act unless they are told another name."""
    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    return ada


@pytest.fixture
def document(ada, endpoint):
    return sums_of(ada, CASES)


@pytest.fixture
def file(tmp_path, document):
    """The document as a YAML file."""
    return write(tmp_path / "sums.yaml", document)


RUNNING = {"run", "watch", "rerun", "rollout", "train_mutator"}


class Ran(NamedTuple):
    """What a command printed, and how it ended."""

    exit_code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def done(self) -> dict[str, Any]:
        last = self.lines[-1]
        assert last["event"] == "done", self.out
        return last


def command(*words: object) -> Ran:
    """As programs ask for it."""
    out = StringIO()
    name, *rest = map(str, words)
    rest += ["--json"] if name in RUNNING else []
    try:
        call_command(name, *rest, stdout=out, stderr=StringIO())
    except SystemExit as left:
        return Ran(int(left.code or 0), out.getvalue(), "")
    except CommandError as error:
        return Ran(error.returncode, out.getvalue(), str(error))
    return Ran(0, out.getvalue(), "")


def refused(*words: object, told: str) -> bool:
    """Whether it ended as bad input does, said so, and printed nothing else."""
    ran = command(*words)
    return (ran.exit_code, ran.out, told in ran.err) == (2, "", True)


def write(path: Path, document: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path
