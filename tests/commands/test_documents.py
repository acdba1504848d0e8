"""What the documents and `--help` say of commands and configurations is complete and works."""

import re
import shlex
import subprocess
import sys
from contextlib import chdir

import pytest
from django.core.management import load_command_class
from django.urls import reverse

from evalsite.command_line import OURS, our_commands
from evalsite.env import BASE_DIR
from runs.models import Endpoint
from runs.selectors.guides import DOCS
from runs.services.datasets.storing import store_rows
from runs.services.demo import DEMO_PRICES
from tests.commands.conftest import command
from tests.engine.proxies import make_authority
from tests.harness.factories import client_of
from tests.workers.working import running_worker
from workers.engine.kinds import KINDS
from workers.engine.spec.examples import EXAMPLES
from workers.engine.spec.reference import reference
from workers.simulator.demo import make_questions

CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
YAML = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
CALLED = re.compile(r"\$ (?:\.venv/bin/python )?(?:manage\.py|evalsite) (.*)")
STAYS = {"serve"}  # has tests of its own, which start it
FROM_AFAR = "--find-models"  # asks a provider whom tests do not reach


def documented():
    """The document of each command of ours, and its words."""
    for path in sorted([*DOCS.glob("*.md"), *DOCS.glob("guides/*.md")]):
        for block in CONSOLE.findall(path.read_text()):
            for line in block.replace("\\\n", " ").splitlines():
                found = CALLED.match(line)
                words = shlex.split(found[1], comments=True) if found else []
                if words and words[0] not in STAYS:
                    yield path.name, [word for word in words if word != FROM_AFAR]


COMMANDS = list(documented())


@pytest.fixture
def folder(tmp_path, monkeypatch, simulator):
    """With keys as the documents have them, where the simulated provider answers."""
    for name in ("GROQ_API_KEY", "AZURE_OPENAI_API_KEY", "TEAM_TOKEN"):
        monkeypatch.setenv(name, "a-key-that-nobody-takes")
    monkeypatch.setenv("OUR_PROXY", "http://proxy.company.example:3128")
    authority = make_authority(tmp_path, "llm.company.example")
    (tmp_path / "company-ca.pem").write_text(authority.pem)
    return tmp_path


@pytest.mark.timeout(900)  # a dozen commands, which run evaluations
def test_every_command_of_the_documents_does_what_it_says(folder, ada, endpoint):
    """One after the other, with the file of the guide wherever they find one."""
    assert {words[0] for _, words in COMMANDS} >= {"init", "run", "rollout", "save_endpoint"}
    file, [evals] = folder / "evals.yaml", YAML.findall((DOCS / "guides" / "CI.md").read_text())
    wrong = {}
    with running_worker(), chdir(folder):  # in this order: workers start where they are
        for document, words in COMMANDS:
            file.unlink(missing_ok=True)
            if words[0] != "init":
                file.write_text(evals)
            ran = command(*[word.replace("/etc", str(folder)) for word in words])
            if ran.exit_code != 0 or not has_worked(words, ran, file):
                wrong[document, *words] = (ran.exit_code, ran.err, ran.out)
    assert wrong == {}


def has_worked(words, ran, file):
    if words[0] == "save_endpoint":
        return Endpoint.objects.filter(name=words[1]).exists()
    if words[0] == "init":
        return file.exists()
    return ran.done["counts"]["failed"] == 0


@pytest.mark.timeout(900)  # an evaluation for every example
def test_every_example_runs_as_it_is_written(tmp_path, ada, endpoint, simulator):
    Endpoint.objects.filter(pk=endpoint.pk).update(prices=DEMO_PRICES)
    store_rows(ada, "arithmetic", [question._asdict() for question in make_questions(8)])
    file = tmp_path / "example.yaml"
    wrong = {}
    for example in EXAMPLES:
        file.write_text(example.yaml)
        ran = command("run", file, "--here")
        counts = ran.done["counts"] if ran.exit_code == 0 else {"done": 0, "failed": 0}
        if not counts["done"] or counts["failed"]:
            wrong[example.anchor] = (ran.exit_code, ran.err, counts)
    assert wrong == {}


def test_every_field_has_a_meaning_every_link_a_target_and_the_page_shows_them_all(ada):
    parts = reference()
    sections = [section for part in parts for section in part.sections]
    rows = [row for section in sections for row in section.fields]
    assert [row.name for row in rows if not row.meaning] == []
    targets = {piece.target for row in rows for piece in row.type if piece.target}
    assert targets <= {section.anchor for section in sections}
    names = {row.name for row in rows}
    assert all(kind.model_fields.keys() <= names for kind in KINDS.values())
    client = client_of(ada)
    page = client.get(reverse("configuration_docs")).content.decode()
    for part in reference():
        for section in part.sections:
            assert f'id="{section.anchor}"' in page
            assert all(f"<code>{row.name}</code>" in page for row in section.fields)
    assert len(re.findall('<pre class="code"', page)) == len(EXAMPLES)
    for place in ("run_new", "api_docs"):
        assert reverse("configuration_docs") in client.get(reverse(place)).content.decode()


def manage(*words):
    """In a process of its own: a command line sets up the logging of a whole process."""
    argv = [sys.executable, "manage.py", *words]
    ended = subprocess.run(argv, cwd=BASE_DIR, text=True, capture_output=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def test_our_commands_come_first_each_with_a_line_that_fits_and_a_help_of_its_own():
    text = manage("--help")
    ours, _, of_django = text.partition("Commands of Django:")
    for name in our_commands():
        about = load_command_class(OURS, name).help.partition(". ")[0].rstrip(".")
        assert f"  {name:21} {about}\n" in ours
    assert "migrate" in of_django
    assert "benchmark_measure" not in text  # started by `benchmark` only
    assert max(map(len, text.splitlines())) <= 100
    assert manage() == manage("help") == text
    assert manage("help", "run").startswith("usage: manage.py run")
    assert "migrate" in manage("help", "--commands").split()
