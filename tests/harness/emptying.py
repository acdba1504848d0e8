"""What a test has committed is deleted after it, and nothing else.

Django's own way is `flush`: it empties all tables, on PostgreSQL anew on disk, and then makes its
content types and permissions again. That took longer than most of the tests it was done for.
"""

from __future__ import annotations

from functools import cache

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.test import TransactionTestCase

from runs.models import AuditEntry

STAY = {ContentType._meta.db_table, Permission._meta.db_table}  # no test changes them
ONLY_WHOLE = {AuditEntry._meta.db_table}  # a trigger forbids PostgreSQL to delete single rows


def instead_of_flush() -> None:
    """For every test that is marked `django_db(transaction=True)`."""
    TransactionTestCase._fixture_teardown = lambda _: empty_tables()  # type: ignore[attr-defined]


def empty_tables() -> None:
    """All in one transaction: rows that refer to each other are gone when the database looks."""
    with transaction.atomic(), connection.cursor() as cursor:
        for table in filled_tables():
            whole = connection.vendor == "postgresql" and table in ONLY_WHOLE
            quoted = connection.ops.quote_name(table)
            cursor.execute(f"TRUNCATE {quoted}" if whole else f"DELETE FROM {quoted}")


def filled_tables() -> list[str]:
    names = table_names()
    quoted = (connection.ops.quote_name(name) for name in names)
    columns = ", ".join(f"EXISTS (SELECT 1 FROM {name})" for name in quoted)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns}")
        row = cursor.fetchone()
    return [name for name, is_filled in zip(names, row, strict=True) if is_filled]


@cache
def table_names() -> list[str]:
    known = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return sorted(set(known) - STAY)
