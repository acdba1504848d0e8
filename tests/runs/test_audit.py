"""Every action leaves one row that says who did it, from where, and no secret; no row changes."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from runs.models import (
    AppendOnlyError,
    AuditAction,
    AuditDoor,
    AuditEntry,
    Endpoint,
)
from runs.services import audit
from runs.services.removing import archiving
from runs.services.removing.retention import prune_audit
from runs.services.runs import create_run
from tests.harness.factories import (
    PASSWORD,
    client_of,
    run_document,
)
from tests.runs.audit_parts import DOORS, PATH, Stage

pytestmark = pytest.mark.django_db

SHOWN_ELSEWHERE = {
    AuditAction.PRIVATE_ALLOWED,
    AuditAction.PRIVATE_REVOKED,
    AuditAction.PROVIDER_CONNECTED,
}


def test_every_action_has_its_line_here():
    assert set(DOORS) | SHOWN_ELSEWHERE == set(AuditAction)


@pytest.mark.parametrize("action", DOORS)
def test_an_action_leaves_one_row_without_a_secret(action, settings, tmp_path):
    settings.EVALSITE_DATA = tmp_path
    stage = Stage()
    before = set(AuditEntry.objects.values_list("pk", flat=True))
    act, wanted = DOORS[action]
    act(stage)
    (row,) = AuditEntry.objects.filter(action=action).exclude(pk__in=before)
    assert {name: getattr(row, name) for name in wanted} == wanted
    told = str(list(AuditEntry.objects.values()))
    assert not [secret for secret in stage.secrets if secret in told]
    assert not PATH.search(told)
    if row.door == AuditDoor.API:
        assert row.token == stage.token.prefix


def test_what_is_rolled_back_leaves_no_row():
    stage = Stage()
    with transaction.atomic():
        create_run(stage.ada, run_document(stage.dataset))
        transaction.set_rollback(True)
    assert not AuditEntry.objects.filter(action=AuditAction.RUN_LAUNCHED).exists()


def some_row() -> AuditEntry:
    audit.record(AuditAction.SIGN_IN)
    return AuditEntry.objects.get()


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row.save(),
        lambda row: row.delete(),
        lambda row: AuditEntry.objects.update(actor="mallory"),
        lambda row: AuditEntry.objects.all().delete(),
        lambda row: AuditEntry.objects.bulk_update([row], ["actor"]),
    ],
)
def test_the_model_changes_and_removes_no_row(change):
    row = some_row()
    with pytest.raises(AppendOnlyError):
        change(row)
    assert AuditEntry.objects.get().actor == ""


def test_the_database_refuses_to_change_a_row():
    some_row()
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


def test_a_scanner_cannot_fill_the_table():
    stage = Stage()
    scanner = client_of(stage.bob)
    for number in range(audit.REFUSALS_PER_HOUR + 5):
        assert scanner.get(f"/runs/{10_000 + number}/").status_code == 404
    rows = AuditEntry.objects.filter(action=AuditAction.DENIED)
    assert rows.count() == audit.REFUSALS_PER_HOUR
    assert rows.latest("pk").detail.endswith("further refusals within the hour are not recorded")
    assert client_of(stage.bob).get("/no/such/page/").status_code == 404


def test_a_refusal_by_role_is_recorded_and_one_of_a_stranger_is_not():
    stage = Stage()
    client_of(stage.bob).get(reverse("people"))
    Client().get(reverse("people"))
    (row,) = AuditEntry.objects.filter(action=AuditAction.DENIED)
    assert (row.actor, row.subject, row.detail) == ("bob", "/people/", "GET, 403")


def test_peoples_text_is_one_line_and_capped():
    stage = Stage()
    name = "x\n2026 INFO: forged\x1b[2J\u202e" + "y" * 60
    endpoint = Endpoint(pk=stage.endpoint.pk, name=name)
    archiving.archive_endpoint(stage.ada, endpoint)
    audit.record(AuditAction.EXPORTED, endpoint, "z" * 1000)
    archived, exported = AuditEntry.objects.order_by("pk").exclude(action="token.made")
    assert archived.subject.startswith("x\\n2026 INFO: forged\\x1b[2J\\u202e")
    assert archived.subject.isprintable()
    assert (len(exported.detail), exported.detail[-1]) == (300, "…")


def test_a_failed_name_that_is_no_account_is_not_kept():
    """People type their password there."""
    Client().post(reverse("sign_in"), {"username": PASSWORD, "password": "x"})
    row = AuditEntry.objects.get()
    assert (row.action, row.subject) == ("sign_in.failed", "unknown account")


def test_nobody_is_an_actor_only_by_being_signed_in():
    audit.record(AuditAction.EXPORTED, actor=AnonymousUser())
    assert AuditEntry.objects.get().actor_id is None
