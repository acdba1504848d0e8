"""Tells a database that has no room left from one that is away: only a person makes room."""

import sqlite3

STORAGE_FULL = "Storage is full: make room on the disk of the database, then resume"
POSTGRES_CODES = ("53100", "53000")  # disk full, insufficient resources
SQLITE_CODES = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)  # and its index in memory


def is_storage_full(error: BaseException) -> bool:
    """By what the database's own driver said; Django's error is raised from it."""
    told = error.__cause__
    if getattr(told, "sqlstate", None) in POSTGRES_CODES:
        return True
    return getattr(told, "sqlite_errorcode", None) in SQLITE_CODES
