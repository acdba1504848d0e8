"""The audit log: no row changes, services fill it, administrators read it. And log lines.

What each action leaves is in test_audit_actions.py.
"""

import ast
import csv
import json
import logging
import sys
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from evalsite.log_lines import LONGEST_MESSAGE, LineFormatter
from runs.models import AppendOnlyError, AuditAction, AuditEntry, Endpoint
from runs.roles import Role
from runs.selectors.audit import PAGE_SIZE
from runs.services import audit
from runs.services.audit import Subject, record
from runs.services.removing import archiving
from runs.services.removing.retention import prune_audit
from runs.services.runs import create_run
from tests.api.asking import Asker
from tests.commands.conftest import command
from tests.harness.factories import PASSWORD, client_of, make_person, run_document

pytestmark = pytest.mark.django_db

SERVICES = Path(__file__).parents[2] / "runs" / "services"
# What takes something away, or gives somebody a right, by the name of the function.
VERBS = (
    *("delete_", "archive_", "restore_", "share_", "give_", "set_", "revoke_", "rotate_", "prune_"),
    *("erase_", "remove_", "close_", "cancel_", "pause_", "resume_", "retune_", "retry_", "rerun_"),
    *("create_", "save_endpoint", "change_", "choose_", "add_person", "allow_"),
)
NOT_A_PERSONS = {
    "remove_unused_made_cases": "the site tidies up",
    "set_aside_chunk": "a worker's",
    "set_expected_column": "names a column; no right and no row changes",
    "pause_hopeless": "the site pauses by itself, in the run's own events",
    "delete_rows": "a part of what records",
    "delete_some_answers": "a part of what records",
    "prune_audit": "only age removes a row, and it would add one for each",
    "retune_and_resume": "its two parts record",
    "rerun_as_new": "create_run records it",
    "remove_due": "remove_part records it",
    "remove_due_answers": "prune_cache said when they would go",
}


def test_what_is_rolled_back_leaves_no_row(alice, dataset):
    with transaction.atomic():
        create_run(alice, run_document(dataset))
        transaction.set_rollback(True)
    assert not AuditEntry.objects.filter(action=AuditAction.RUN_LAUNCHED).exists()


def test_the_model_changes_and_removes_no_row():
    record(AuditAction.SIGN_IN)
    row = AuditEntry.objects.get()
    for change in (
        row.save,
        row.delete,
        lambda: AuditEntry.objects.update(actor="mallory"),
        lambda: AuditEntry.objects.all().delete(),
        lambda: AuditEntry.objects.bulk_update([row], ["actor"]),
    ):
        with pytest.raises(AppendOnlyError):
            change()
        assert AuditEntry.objects.get().actor == ""


@pytest.mark.postgresql("triggers: each database has its own that refuse to change a row")
def test_the_database_refuses_to_change_a_row():
    record(AuditAction.SIGN_IN)
    changes = ["UPDATE runs_auditentry SET actor = 'mallory'"]
    if connection.vendor == "postgresql":
        changes.append("DELETE FROM runs_auditentry")
    for change in changes:
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(change)
    assert AuditEntry.objects.get().actor == ""


def test_only_age_removes_a_row(settings):
    settings.AUDIT_DAYS = 100
    kept, old = (now() - timedelta(days=days) for days in (99, 101))
    AuditEntry.objects.create(action="sign_in", at=kept)
    AuditEntry.objects.create(action="sign_in", at=old)
    assert prune_audit() == 1
    assert AuditEntry.objects.get().at == kept
    assert prune_audit() == 0


def test_a_scanner_cannot_fill_the_table(bob, set_constant):
    set_constant(audit, "REFUSALS_PER_HOUR", 3)
    scanner = client_of(bob)
    for number in range(5):
        assert scanner.get(f"/runs/{10_000 + number}/").status_code == 404
    rows = AuditEntry.objects.filter(action=AuditAction.DENIED)
    assert rows.count() == 3
    assert rows.latest("pk").detail.endswith("further refusals within the hour are not recorded")
    assert client_of(bob).get("/no/such/page/").status_code == 404


def test_a_refusal_by_role_is_recorded_and_one_of_a_stranger_is_not(bob):
    """Nor is a failed name that is no account: people type their password there."""
    client_of(bob).get(reverse("people"))
    Client().get(reverse("people"))
    row = AuditEntry.objects.get()
    assert (row.action, row.detail) == (AuditAction.DENIED, "GET, 403")
    assert (row.actor, row.subject) == ("bob", "/people/")
    Client().post(reverse("sign_in"), {"username": PASSWORD, "password": "x"})
    row = AuditEntry.objects.latest("pk")
    assert (row.action, row.subject) == ("sign_in.failed", "unknown account")
    record(AuditAction.EXPORTED, actor=AnonymousUser())
    assert AuditEntry.objects.latest("pk").actor_id is None


def test_peoples_text_is_one_line_and_capped(ada, endpoint):
    name = "x\n2026 INFO: forged\x1b[2J\u202e" + "y" * 60
    renamed = Endpoint(pk=endpoint.pk, name=name)
    archiving.archive_endpoint(ada, renamed)
    record(AuditAction.EXPORTED, renamed, "z" * 1000)
    archived, exported = AuditEntry.objects.order_by("pk")
    assert archived.subject.startswith("x\\n2026 INFO: forged\\x1b[2J\\u202e")
    assert archived.subject.isprintable()
    assert (len(exported.detail), exported.detail[-1]) == (300, "…")


def texts(client, **query):
    return client.get(reverse("audit"), query).text


def test_the_page_shows_and_filters_what_people_did(ada, bob, time_machine):
    time_machine.move_to(now().replace(hour=12))  # the day does not end meanwhile
    record(AuditAction.RUN_LAUNCHED, Subject("run", "<b>sums</b> (run 7)", 7), actor=bob)
    record(AuditAction.ROLE_CHANGED, Subject("user", "eve"), "from none to runner", actor=ada)
    client = client_of(ada)
    page = texts(client)
    assert "&lt;b&gt;sums&lt;/b&gt; (run 7)" in page
    assert "from none to runner" in page
    for query in ({"person": "bo"}, {"action": "run.launched"}, {"about": "sums"}):
        found = texts(client, **query)
        assert ("(run 7)" in found, "from none to runner" in found) == (True, False)
    today = now().date().isoformat()
    assert "(run 7)" in texts(client, **{"from": today, "to": today})
    assert "Nothing matches" in texts(client, to="2000-01-01")
    assert "(run 7)" in texts(client, action="no such", to="tomorrow", before="x")


def test_pages_follow_each_other_without_gaps(ada):
    AuditEntry.objects.bulk_create(
        AuditEntry(action="exported", at=now()) for _ in range(2 * PAGE_SIZE + 3)
    )
    client, seen = client_of(ada), []
    query: dict[str, Any] = {}
    while True:
        page = client.get(reverse("audit"), query).context["page"]
        seen += [entry.pk for entry in page.rows]
        if not page.has_next:
            break
        query = {"before": page.rows[-1].pk}
    assert seen == sorted(AuditEntry.objects.values_list("pk", flat=True), reverse=True)
    back = client.get(reverse("audit"), {"after": page.rows[0].pk}).context["page"]
    assert [entry.pk for entry in back.rows] == seen[PAGE_SIZE : 2 * PAGE_SIZE]


def test_files_have_the_filtered_rows_and_no_formula(ada):
    record(AuditAction.EXPORTED, Subject("run", "=HYPERLINK(1)"), "+1", actor=ada)
    record(AuditAction.SIGN_OUT, actor=ada)
    client = client_of(ada)
    answer = client.get(reverse("audit_csv"), {"about": "HYPER"})
    assert answer["Content-Disposition"] == 'attachment; filename="audit.csv"'
    (row,) = csv.DictReader(StringIO(answer.getvalue().decode()))
    assert (row["actor"], row["subject"], row["detail"]) == ("ada", "'=HYPERLINK(1)", "'+1")
    lines = client.get(reverse("audit_jsonl")).getvalue().decode().splitlines()
    newest, *rest = map(json.loads, lines)
    # The download of the CSV file is itself an action, and so is this one.
    assert (newest["action"], newest["detail"]) == ("exported", "audit.jsonl")
    assert [one["action"] for one in rest] == ["exported", "sign_out", "exported"]
    assert rest[-1]["subject"] == "=HYPERLINK(1)"


def test_the_api_lists_the_same_with_the_same_filters(ada):
    asker = Asker(ada)
    for number in range(3):
        record(AuditAction.EXPORTED, Subject("run", f"run {number}"), actor=ada)
    asked = {"action": "exported", "limit": 2, "fields": "id,subject"}
    first = asker.get("/audit", **asked).json()
    assert [row["subject"] for row in first["data"]] == ["run 2", "run 1"]
    rest = asker.get("/audit", **asked, cursor=first["next_cursor"]).json()
    assert [row["subject"] for row in rest["data"]] == ["run 0"]
    assert asker.get("/audit", person="nobody").json()["data"] == []
    assert asker.get("/audit", until="2000-01-01T00:00:00Z").json()["data"] == []
    assert asker.get("/audit", action="no.such").status_code == 422
    assert Asker(make_person("olga", role=Role.OPERATOR)).get("/audit").status_code == 403


def records(name, functions):
    """Itself, or through a function of its own file."""
    calls = [node.func for node in ast.walk(functions[name]) if isinstance(node, ast.Call)]
    called = {call.id for call in calls if isinstance(call, ast.Name)}
    own = (called & functions.keys()) - {name}
    return "record" in called or any(records(one, functions) for one in own)


def test_every_service_that_removes_or_gives_rights_records_it():
    silent = []
    for path in sorted(SERVICES.rglob("*.py")):
        tree = ast.parse(path.read_text())
        functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
        silent += [
            f"{path.relative_to(SERVICES)}: {name}"
            for name in functions
            if name.startswith(VERBS) and name not in NOT_A_PERSONS
            if not records(name, functions)
        ]
    assert silent == []


LAUNCHED, CHANGED = "sums\x1b[31m (run 7)", "from none to runner"


@pytest.fixture
def log(ada, bob):
    """Two actions of two people on two days, the name of one with a terminal's escape in it."""
    AuditEntry.objects.create(action="sign_in", at=datetime(2020, 1, 2, 3, 4, tzinfo=UTC))
    record(AuditAction.RUN_LAUNCHED, Subject("run", LAUNCHED, 7), actor=bob)
    record(AuditAction.ROLE_CHANGED, Subject("user", "=eve"), CHANGED, actor=ada)


def test_a_person_reads_a_table_newest_first_and_a_script_lines_of_json(log):
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
def test_a_file_has_what_the_filters_leave_and_is_itself_recorded(log, name, tmp_path):
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


# --- The log of a process: one event, one line, whatever text is in it


def line_for(message, *args, error=False):
    exc_info = sys.exc_info() if error else None
    record = logging.LogRecord("runs", logging.INFO, "f.py", 1, message, args, exc_info)
    return LineFormatter().format(record)


def test_text_of_a_person_is_cut_and_cannot_start_a_line_or_colour_a_terminal():
    assert len(line_for("x" * 10 * LONGEST_MESSAGE)) < LONGEST_MESSAGE + 100
    line = line_for("Run %s started", "a\n2026 INFO root: all is well\x1b[31m\u202e")
    assert len(line.splitlines()) == 1
    assert r"a\n2026 INFO root: all is well\x1b[31m\u202e" in line


def test_the_lines_of_a_traceback_are_marked():
    try:
        raise ValueError("bad\n2026 INFO root: all is well")
    except ValueError:
        first, *rest = line_for("It failed", error=True).splitlines()
    assert first.endswith("It failed")
    assert all(line.startswith("  | ") for line in rest)
