"""The documents say what is there: every command, variable and dependency."""

import re
from pathlib import Path

from scripts.commands_reference import write_reference
from scripts.configuration_reference import write_reference as write_configurations

ROOT = Path(__file__).resolve().parent.parent


def read(name: str) -> str:
    return (ROOT / name).read_text()


def requirements() -> list[str]:
    text = "\n".join(path.read_text() for path in (ROOT / "requirements").glob("*.in"))
    return [name.lower() for name in re.findall(r"^[A-Za-z][\w.-]*", text, re.MULTILINE)]


def test_every_dependency_is_justified_and_every_variable_in_the_readme():
    text = read("ARCHITECTURE.md").lower()
    assert sorted(name for name in set(requirements()) if name not in text) == []
    code = read("evalsite/env.py")
    variables = set(re.findall(r'"((?:EVALSITE_[A-Z_]+|DATABASE_URL|REDIS_URL))"', code))
    undocumented = {"EVALSITE_DEBUG"}  # for developers
    readme = read("README.md")
    assert sorted(name for name in variables - undocumented if name not in readme) == []


def test_files_and_targets_named_in_the_documents_exist():
    named = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    missing = []
    for document in [*named, *(ROOT / "docs/design").glob("*.md")]:
        text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
        paths = re.findall(r"`((?:runs|workers|evalsite|static|templates|tests)/[\w./-]+)`", text)
        links = re.findall(r"\]\(([\w./-]+)\)", text)
        missing += [(document.name, path) for path in paths if not (ROOT / path).exists()]
        missing += [(document.name, one) for one in links if not (document.parent / one).exists()]
    assert missing == []
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    for name in ("README.md", "CONTRIBUTING.md"):
        assert set(re.findall(r"\$ make ([a-z-]+)", read(name))) <= targets


def test_the_references_of_configurations_and_commands_are_up_to_date():
    assert read("docs/CONFIGURATION.md") == write_configurations(), "Run `make configuration`."
    assert read("docs/COMMANDS.md") == write_reference(), "Run `make commands`."


def test_every_rule_of_security_names_tests_that_are_there():
    text = read("docs/SECURITY.md")
    numbers = map(int, re.findall(r"^\| (\d+) \|", text, re.MULTILINE))
    assert list(numbers) == [*range(1, 64)]
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", text)
    missing = [test for test in named if f"def {test[1]}(" not in read(f"tests/{test[0]}")]
    assert missing == []
