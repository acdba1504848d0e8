"""The database's own word, in plain SQL: not through the site's queries, which are on trial."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from tests.harness.patience import PATIENCE_SECONDS

Rows = list[tuple[Any, ...]]
LONGEST_WRITING_SECONDS = 3.0  # a hundred times as long as the site takes, unless it is frozen


class Database:
    """A file of SQLite, or the address of a PostgreSQL. Asked on a connection of its own each
    time: the server may have been another meanwhile."""

    def __init__(self, address: Path | str) -> None:
        self._address = address

    def rows(self, query: str, **values: Any) -> Rows:
        """Values are named in the query: `:run` on SQLite, `%(run)s` on PostgreSQL."""
        if isinstance(self._address, str):
            with psycopg.connect(self._address, autocommit=True) as connection:
                return connection.execute(query.encode(), values or None).fetchall()
        uri = f"{self._address.as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=PATIENCE_SECONDS)) as file:
            return file.execute(query, values).fetchall()

    def change(self, statement: str, **values: Any) -> int:
        """Past the site, as a disk or a careless hand would; how many rows. Only SQLite."""
        with closing(sqlite3.connect(self._address, timeout=PATIENCE_SECONDS)) as file, file:
            return file.execute(statement, values).rowcount

    def can_be_written(self) -> bool:
        """Whether nobody keeps SQLite's only lock for writing; PostgreSQL has none."""
        if isinstance(self._address, str):
            return True
        try:
            with closing(sqlite3.connect(self._address, timeout=LONGEST_WRITING_SECONDS)) as file:
                file.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        return True

    def one(self, query: str) -> Any:
        return self.rows(query)[0][0]

    def count(self, table: str, where: str = "1 = 1") -> int:
        return int(self.one(f"SELECT count(*) FROM {table} WHERE {where}"))

    def state(self, run: int) -> str:
        return str(self.one(f"SELECT state FROM runs_run WHERE id = {run}"))

    def done(self, run: int) -> int:
        return self.count("runs_score", f"run_id = {run}")
