"""Commands in a folder that nobody has prepared; what they refuse ends in one message."""

import json
import subprocess
from pathlib import Path
from sqlite3 import connect
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.db import OperationalError

from evalsite.embedded.parts import MANAGE
from evalsite.env import BASE_DIR
from runs.management.refusals import refusing
from tests.commands.conftest import write
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.site import environment_of_a_site
from workers.simulator.testing import running_simulator

pytestmark = pytest.mark.timeout(900)  # every command is a process of its own

PATIENTLY: Any = {"capture_output": True, "text": True, "timeout": PATIENCE_SECONDS}
NOBODY_LISTENS = "redis://127.0.0.1:1/0"
TERSE = {"name": "terse", "system": "Answer with the number only."}
SUMS: dict[str, Any] = {"kind": "evaluate", "dataset": "sums", "prompts": [TERSE]}
SUMS |= {"models": ["simulated/sim-large"], "scorers": ["numeric"]}


class Folder:
    """A new data folder, and commands that use it."""

    def __init__(self, place):
        self.data = place / "data"
        self.file = write(place / "sums.yaml", SUMS)
        self.rows = place / "sums.csv"
        self.rows.write_text("question,expected\nWhat is 2 + 3?,5\nWhat is 20 + 3?,23\n")

    def command(self, *words, **variables):
        told = {"EVALSITE_DATA": str(self.data), "REDIS_URL": NOBODY_LISTENS, **variables}
        argv, env = [*MANAGE, *map(str, words)], environment_of_a_site(**told)
        return subprocess.run(argv, cwd=BASE_DIR, env=env, **PATIENTLY)

    def refused(self, *words, **variables):
        ran = self.command(*words, **variables)
        assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
        assert "Traceback" not in ran.stderr
        return ran.stderr

    def ask(self, question):
        with connect(self.data / "evalsite.sqlite3") as database:
            return database.execute(question).fetchall()


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_a_file_is_run_in_an_empty_folder_for_a_local_operator(folder):
    imported = folder.command("import_dataset", "sums", folder.rows)
    assert (imported.returncode, imported.stderr) == (0, f"Made a new database in {folder.data}.\n")
    write(folder.file, {**SUMS, "endpoints": {"simulated": {}}})
    with running_simulator(latency_ms=0) as simulator:
        ran = folder.command("run", folder.file, "--here", EVALSITE_SIMULATOR_URL=simulator.url)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == ""  # no terminal: sentences for a log, on standard error
    for said in ("In this process: sums, 2 trials.", "ok   finished: 2 of 2 trials", "Results: "):
        assert said in ran.stderr
    people = folder.ask(
        "SELECT username, password, is_superuser, is_staff, name FROM auth_user"
        " JOIN auth_user_groups ON user_id = auth_user.id"
        " JOIN auth_group ON group_id = auth_group.id"
    )
    [(name, password, is_superuser, is_staff, role)] = people
    assert (name, is_superuser, is_staff, role) == ("local", 0, 0, "operator")
    assert str(password).startswith("!")  # nobody can sign in with it
    no_site = folder.refused("run", folder.file)
    assert "Start the site (`manage.py serve`) or add --here" in no_site
    assert folder.ask("SELECT count(*) FROM runs_run") == [(0,)]


def test_without_a_site_a_file_is_run_in_the_process_with_all_it_brings(folder):
    """Nobody listens where the simulated provider should be, so that the command starts one."""
    brought = {**SUMS, "dataset": {"file": "sums.csv"}, "endpoints": {"simulated": {}}}
    write(folder.file, brought)
    alone = {"REDIS_URL": "", "EVALSITE_SIMULATOR_URL": "http://127.0.0.1:1"}
    ran = folder.command("run", folder.file, "--json", **alone)
    assert ran.returncode == 0, ran.stderr
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    [why] = [line["text"] for line in lines if line["event"] == "here"]
    assert why.startswith(f"No site works on the data folder {folder.data}")
    assert lines[-1]["counts"]["done"] == 2
    scores = Path(lines[-1]["results"]).read_text().splitlines()
    assert [json.loads(line)["error"] for line in scores] == [None, None]
    assert folder.ask("SELECT count(*) FROM runs_endpoint") == [(0,)]


def test_an_older_database_is_brought_up_to_date(folder):
    assert folder.command("migrate", "auth", "-v", "0").returncode == 0
    token = folder.command("create_token", "ci")
    assert token.returncode == 0
    assert token.stdout.startswith("ev_")
    assert token.stderr == f"Brought the database up to date in {folder.data}.\n"


def test_nothing_is_not_backed_up_and_the_database_of_others_left_alone(folder, tmp_path):
    assert "There is no database in" in folder.refused("backup", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    other = tmp_path / "other.sqlite3"
    told = folder.refused("run", folder.file, "--here", DATABASE_URL=f"sqlite:///{other}")
    assert "Run `manage.py migrate`" in told
    with connect(other) as database:
        assert database.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def test_what_a_command_cannot_work_without_is_told():
    for error, told in [
        (OperationalError("database is locked"), "kept the database locked for 20 seconds"),
        (OperationalError("disk I/O error\n"), "cannot be used: disk I/O error."),
        (PermissionError(13, "Permission denied", "a.yaml"), "a.yaml: Permission denied."),
    ]:
        with pytest.raises(CommandError, match=told) as caught, refusing():
            raise error
        assert caught.value.returncode == 2
