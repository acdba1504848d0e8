"""The database's clock: what several hosts decide by must not depend on which of them looks."""

from datetime import datetime

from django.db import connection
from django.utils import timezone


def database_now() -> datetime:
    """SQLite has the clock of its host."""
    if connection.vendor == "sqlite":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment
