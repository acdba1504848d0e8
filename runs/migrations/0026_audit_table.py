"""The audit table, whose rows the database itself refuses to change.

PostgreSQL also refuses to delete a row that is younger than a month, the shortest time that
EVALSITE_AUDIT_DAYS can say. On SQLite it would also stop `manage.py flush`, and whoever can write the
file can do anything; there only the model refuses it.
"""

import django.utils.timezone
from django.db import migrations, models

SQLITE = """
CREATE TRIGGER audit_rows_stay BEFORE UPDATE ON runs_auditentry
BEGIN SELECT RAISE(ABORT, 'Rows of the audit table are never changed.'); END
"""
POSTGRESQL = """
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at < now() - interval '30 days' THEN RETURN OLD; END IF;
    RAISE EXCEPTION 'Rows of the audit table are never changed.';
END $$;
CREATE TRIGGER audit_rows_stay BEFORE UPDATE OR DELETE ON runs_auditentry
FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
"""


def guard(apps, schema_editor):
    is_postgresql = schema_editor.connection.vendor == "postgresql"
    schema_editor.execute(POSTGRESQL if is_postgresql else SQLITE, params=None)


def unguard(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION refuse_audit_change CASCADE")
    else:
        schema_editor.execute("DROP TRIGGER audit_rows_stay")


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0025_judges_that_ask"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ("action", models.CharField(help_text="One of AuditAction.", max_length=40)),
                (
                    "actor_id",
                    models.BigIntegerField(help_text="Account; none: nobody signed in.", null=True),
                ),
                (
                    "actor",
                    models.CharField(
                        help_text="Name of the account, or of the shell's.", max_length=150
                    ),
                ),
                (
                    "token",
                    models.CharField(
                        help_text="Readable beginning of the API token used.", max_length=16
                    ),
                ),
                (
                    "subject_kind",
                    models.CharField(help_text="run, endpoint, dataset, user, …", max_length=30),
                ),
                ("subject_id", models.BigIntegerField(null=True)),
                ("subject", models.CharField(help_text="Its name at that moment.", max_length=200)),
                ("detail", models.CharField(max_length=300)),
                ("door", models.CharField(help_text="One of AuditDoor.", max_length=10)),
                (
                    "address",
                    models.CharField(help_text="Network address of the client.", max_length=45),
                ),
                (
                    "request_id",
                    models.CharField(help_text="As in the log and X-Request-ID.", max_length=20),
                ),
            ],
            options={
                "verbose_name_plural": "audit entries",
                "indexes": [
                    models.Index(fields=["actor_id", "at"], name="audit_actor_at"),
                    models.Index(fields=["action", "at"], name="audit_action_at"),
                    models.Index(fields=["subject_kind", "subject_id"], name="audit_subject"),
                ],
            },
        ),
        migrations.RunPython(guard, unguard),
    ]
