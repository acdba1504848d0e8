"""What Django does at length for tests: passwords, pages and tables made ready more quickly."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.template import Template
from django.template.context import Context
from django.test import TransactionTestCase, utils

from runs.models import AuditEntry

STAY = {ContentType._meta.db_table, Permission._meta.db_table}  # no test changes them
ONLY_WHOLE = {AuditEntry._meta.db_table}  # a trigger forbids PostgreSQL to delete single rows


def make_quick() -> None:
    """Every test client has a middleware of its own, which would list all static files anew; a
    good password takes a quarter of a second to be hashed; and Django's `flush` empties all tables,
    on PostgreSQL anew on disk, and makes its content types and permissions again."""
    settings.WHITENOISE_AUTOREFRESH = True
    settings.PASSWORD_HASHERS = [f"{__name__}.{QuickHasher.__name__}"]
    TransactionTestCase._fixture_teardown = lambda _: empty_tables()  # type: ignore[attr-defined]
    keep_contexts_of_pages_only()


class QuickHasher(Argon2PasswordHasher):
    """As all of the site's passwords are hashed, but without the cost."""

    time_cost, memory_cost, parallelism = 1, 8, 1
    hashed: list[str] = []  # every password that was weighed, for those who count

    def encode(self, password: str, salt: str) -> str:
        self.hashed.append(password)
        return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        self.hashed.append(password)
        return super().verify(password, encoded)


def keep_contexts_of_pages_only() -> None:
    """Django's test client copies the context of every template, and a page includes hundreds."""
    instrumented: Any = utils  # its types leave this out
    tell_the_client = instrumented.instrumented_test_render

    def render(template: Template, context: Context) -> str:
        if context.template is template:
            return str(tell_the_client(template, context))
        return template.nodelist.render(context)

    instrumented.instrumented_test_render = render


def empty_tables() -> None:
    """What a test has committed, in one transaction: rows refer to each other."""
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
