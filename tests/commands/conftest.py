"""What the tests of the commands share: the parts of the workers' tests, and files to run."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError

from runs.management import simulating, surroundings
from tests.harness.patience import PATIENCE_SECONDS
from tests.workers.conftest import ada, document, endpoint, simulator

__all__ = ["ada", "document", "endpoint", "simulator"]


@pytest.fixture(autouse=True)
def patient_commands() -> Iterator[None]:
    """They take nobody for absent who is only slow, and start no provider of their own instead."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (simulating, surroundings):
            patch.setattr(module, "ANSWER_WITHIN_SECONDS", PATIENCE_SECONDS)
        yield


class Ran:
    """What a command printed, and how it ended."""

    def __init__(self, exit_code: int, out: str, err: str) -> None:
        self.exit_code = exit_code
        self.out = out
        self.err = err

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def done(self) -> dict[str, Any]:
        last = self.lines[-1]
        assert last["event"] == "done", self.out
        return last


def command(*words: object) -> Ran:
    """As on a command line without a terminal."""
    out = StringIO()
    name, *rest = map(str, words)
    try:
        call_command(name, *rest, stdout=out, stderr=StringIO())
    except SystemExit as left:
        return Ran(int(left.code or 0), out.getvalue(), "")
    except CommandError as error:
        return Ran(error.returncode, out.getvalue(), str(error))
    return Ran(0, out.getvalue(), "")


@pytest.fixture
def file(tmp_path: Path, document: dict[str, Any], ada: User) -> Path:
    """The document as a YAML file; ada is the administrator."""
    User.objects.filter(pk=ada.pk).update(is_superuser=True, is_staff=True)
    return write(tmp_path / "sums.yaml", document)


def write(path: Path, document: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path
