"""`manage.py --help`: our commands first, each with a line."""

import subprocess
import sys

from django.core.management import load_command_class

from evalsite.command_line import OURS, our_commands
from tests.platform.processes import BASE_DIR


def manage(*words: str) -> str:
    ran = subprocess.run(
        [sys.executable, "manage.py", *words], cwd=BASE_DIR, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_our_commands_come_first_each_with_a_line_that_fits() -> None:
    text = manage("--help")
    ours, _, of_django = text.partition("Commands of Django:")
    for name in our_commands():
        about = load_command_class(OURS, name).help.partition(". ")[0].rstrip(".")
        assert f"  {name:21} {about}\n" in ours
    assert "migrate" in of_django
    assert "benchmark_measure" not in text  # started by `benchmark` only
    assert max(map(len, text.splitlines())) <= 100
    assert manage() == manage("help") == text


def test_the_help_of_one_command_is_its_own() -> None:
    assert manage("help", "run").startswith("usage: manage.py run")
    assert "migrate" in manage("help", "--commands").split()
