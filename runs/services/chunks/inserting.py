"""Inserts many rows without making model instances: on the hot path those cost several times what
the database needs for the rows themselves. The database's own constraints check what is written.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, cast

from django.db import connection, models, transaction

Row = tuple[Any, ...]


def insert_rows(
    model: type[models.Model],
    names: tuple[str, ...],
    rows: Sequence[Row],
    *,
    replace_on: str = "",
) -> None:
    """Store one row per tuple, its values in the order of the field names. JSON comes as text,
    a moment through `moment`. A row whose `replace_on` is known replaces the one that is there."""
    if not rows:
        return
    with transaction.atomic(), connection.cursor() as cursor:  # else SQLite commits every row
        cursor.executemany(_insert_sql(model, names, replace_on), rows)


@cache
def _insert_sql(model: type[models.Model], names: tuple[str, ...], replace_on: str) -> str:
    columns = {name: _column(model, name) for name in names}
    table = connection.ops.quote_name(model._meta.db_table)
    places = ", ".join(["%s"] * len(columns))
    # All names are our own models': no text of anybody else's is in it.
    sql = f"INSERT INTO {table} ({', '.join(columns.values())}) VALUES ({places})"  # noqa: S608
    if replace_on:
        renewed = [f"{c} = EXCLUDED.{c}" for name, c in columns.items() if name != replace_on]
        sql += f" ON CONFLICT ({columns[replace_on]}) DO UPDATE SET {', '.join(renewed)}"
    return sql


def moment(when: datetime) -> Any:
    """A moment as this database takes it."""
    return connection.ops.adapt_datetimefield_value(when)


def _column(model: type[models.Model], name: str) -> str:
    column = cast("models.Field[Any, Any]", model._meta.get_field(name)).column or name
    return connection.ops.quote_name(column)
