"""A copy of a site in use: whole, private, and never over something that is there."""

import sqlite3
import stat
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from tests.harness.factories import make_run

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgresql("SQL: only SQLite is copied by us, the other is told to use pg_dump"),
]

MARK = "of this test"


@pytest.fixture
def key_file():
    keys = Path(settings.EVALSITE_DATA) / "keys"
    keys.mkdir(exist_ok=True, mode=0o700)
    file = keys / "for_the_backup"
    file.write_text(MARK)
    return file


def test_a_backup_holds_rows_and_keys_and_is_for_nobody_else(tmp_path, key_file, alice, dataset):
    folder = tmp_path / "copy"
    if connection.vendor != "sqlite":
        with pytest.raises(CommandError, match="use pg_dump"):
            call_command("backup", str(folder))
        assert not folder.exists()
        return
    run = make_run(alice, dataset)
    call_command("backup", str(folder))
    with sqlite3.connect(folder / "evalsite.sqlite3") as copy:
        assert copy.execute("SELECT id, state FROM runs_run").fetchall() == [(run.pk, run.state)]
    assert (folder / "keys" / key_file.name).read_text() == MARK
    private = [folder, folder / "keys", folder / "evalsite.sqlite3"]
    assert not any(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) for path in private)


def test_nothing_that_is_there_is_written_over(tmp_path):
    kept = tmp_path / "evalsite.sqlite3"
    kept.write_text(MARK)
    with pytest.raises(CommandError, match=r"exists\. Name a folder|use pg_dump"):
        call_command("backup", str(tmp_path))
    assert kept.read_text() == MARK
