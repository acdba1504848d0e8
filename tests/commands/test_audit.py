"""`manage.py audit`: the audit log on a terminal, as JSON lines and as a file."""

import csv
from datetime import UTC, datetime

import pytest

from runs.models import AuditAction, AuditEntry
from runs.services.audit import Subject, record
from tests.commands.conftest import command

pytestmark = pytest.mark.django_db

LAUNCHED, CHANGED = "sums\x1b[31m (run 7)", "from none to runner"


@pytest.fixture(autouse=True)
def log(ada, bob):
    """Two actions of two people on two days, the name of one with a terminal's escape in it."""
    AuditEntry.objects.create(action="sign_in", at=datetime(2020, 1, 2, 3, 4, tzinfo=UTC))
    record(AuditAction.RUN_LAUNCHED, Subject("run", LAUNCHED, 7), actor=bob)
    record(AuditAction.ROLE_CHANGED, Subject("user", "=eve"), CHANGED, actor=ada)


def test_a_person_reads_a_table_newest_first_and_a_script_lines_of_json():
    text = command("audit").out
    lines = [line.split() for line in text.splitlines()]
    assert lines[0][:3] == ["When", "(UTC)", "Who"]
    assert [line[2] for line in lines[1:]] == ["ada", "bob", "nobody"]
    assert "Launched a run" in text
    assert "\x1b" not in text
    shown = command("audit", "--limit", "1").out
    assert "The newest 1 of 3. --limit N shows more, --export all." in shown
    assert "bob" not in shown
    filters = {
        "--person bo": ["bob"],
        "--action role.changed": ["ada"],
        "--about sums": ["bob"],
        "--until 2020-01-02T04:04+01:00": [],
        "--since 2020-01-03": ["ada", "bob"],
        "--limit 2": ["ada", "bob"],
        "": ["ada", "bob", ""],
    }
    found = {
        options: [row["actor"] for row in command("audit", "--json", *options.split()).lines]
        for options in filters
    }
    assert found == filters
    assert command("audit", "--person", "mallory").out.strip() == "Nobody did such a thing."


@pytest.mark.parametrize("name", ["audit.csv", "audit.jsonl"])
def test_a_file_has_what_the_filters_leave_and_is_itself_recorded(name, tmp_path):
    path = tmp_path / name
    said = command("audit", "--export", path, "--since", "2020-01-03").out
    assert said == f"3 rows in {path}.\n"
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text()
    rows = list(csv.DictReader(text.splitlines())) if name.endswith("csv") else text.splitlines()
    assert len(rows) == 3  # what was exported is in it, too
    assert ("'=eve" in text) == name.endswith("csv")
    newest = AuditEntry.objects.latest("pk")
    assert (newest.action, newest.detail, newest.door) == ("exported", name, "command")


def test_what_makes_no_sense_is_refused():
    for options, told in [
        (["--action", "flew"], "'flew' is no action. There are: sign_in, sign_in.failed"),
        (["--since", "yesterday"], "'yesterday' is no moment"),
        (["--limit", "0"], "--limit 0: show at least 1."),
        (["--export", "audit.pdf"], "audit.pdf: give a name that ends in .csv or .jsonl."),
    ]:
        wrong = command("audit", *options)
        assert wrong.exit_code != 0
        assert told in wrong.err
