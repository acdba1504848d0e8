"""The commands of the documents are run as they are written, with the files that they name."""

import re
import shlex
from collections.abc import Iterator
from contextlib import chdir, nullcontext
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from runs.models import Endpoint
from runs.selectors.guides import DOCS
from tests.commands.conftest import command
from tests.engine.proxies import make_authority
from tests.workers.working import running_worker
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)

CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
YAML = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
OURS = re.compile(r"\$ (?:\.venv/bin/python )?(?:manage\.py|evalsite) (.*)")
NEEDS_WORKERS = {"run", "rollout"}
STAYS = {"serve"}  # has tests of its own, which start it
FROM_AFAR = "--find-models"  # asks a provider whom tests do not reach


def documented() -> Iterator[tuple[str, list[str]]]:
    """The document of each command of ours, and its words."""
    for path in sorted([*DOCS.glob("*.md"), *DOCS.glob("guides/*.md")]):
        for block in CONSOLE.findall(path.read_text()):
            for line in block.replace("\\\n", " ").splitlines():
                found = OURS.match(line)
                words = shlex.split(found[1], comments=True) if found else []
                if words and words[0] not in STAYS:
                    yield path.name, [word for word in words if word != FROM_AFAR]


COMMANDS = list(documented())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, simulator: SimulatorClient) -> Path:
    """With a file and keys as the documents have them, where the simulated provider answers."""
    for name in ("GROQ_API_KEY", "AZURE_OPENAI_API_KEY", "TEAM_TOKEN"):
        monkeypatch.setenv(name, "a-key-that-nobody-takes")
    monkeypatch.setenv("OUR_PROXY", "http://proxy.company.example:3128")
    authority = make_authority(tmp_path, "llm.company.example")
    (tmp_path / "company-ca.pem").write_text(authority.pem)
    [evals] = YAML.findall((DOCS / "guides" / "CI.md").read_text())
    (tmp_path / "evals.yaml").write_text(evals)
    return tmp_path


def test_there_are_some_of_each_kind():
    assert {words[0] for _, words in COMMANDS} >= {"init", "run", "rollout", "save_endpoint"}


@pytest.mark.parametrize(("document", "words"), COMMANDS, ids=lambda one: str(one)[:60])
def test_a_command_of_the_documents_does_what_it_says(
    document: str, words: list[str], folder: Path, ada: User, endpoint: Endpoint
) -> None:
    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    if words[0] == "init":
        (folder / "evals.yaml").unlink()
    with running_worker() if words[0] in NEEDS_WORKERS else nullcontext(), chdir(folder):
        ran = command(*[word.replace("/etc", str(folder)) for word in words])
    assert ran.exit_code == 0, (document, ran.err, ran.out)
    if words[0] == "save_endpoint":
        assert Endpoint.objects.filter(name=words[1]).exists()
    elif words[0] == "init":
        assert (folder / "evals.yaml").exists()
    else:
        assert ran.done["counts"]["failed"] == 0
