"""`manage.py backup FOLDER`: a copy of database and keys, taken while everything goes on."""

import shutil
import sqlite3
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

BAD_INPUT = 2  # exit code


class Command(BaseCommand):
    help = (
        "Copy the SQLite database and the keys into a new folder, which is then a data folder:"
        " `manage.py serve --data FOLDER` goes on from it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="does not exist yet")

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        if connection.vendor != "sqlite":
            self.refuse(
                "The database is PostgreSQL: use pg_dump for it, and copy the folder"
                f" {Path(settings.EVALSITE_DATA) / 'keys'} beside the dump."
            )
        if folder.exists():
            self.refuse(f"{folder} exists. Name a folder that does not exist yet.")
        folder.mkdir(parents=True, mode=0o700)
        copy_keys(folder)
        copy_database(folder / "evalsite.sqlite3")
        self.stdout.write(f"Kept in {folder}. It holds the keys: guard it like a password.")

    def refuse(self, message: str) -> None:
        raise CommandError(message, returncode=BAD_INPUT)


def copy_keys(folder: Path) -> None:
    keys = Path(settings.EVALSITE_DATA) / "keys"
    if keys.is_dir():
        shutil.copytree(keys, folder / "keys")
        (folder / "keys").chmod(0o700)


def copy_database(target: Path) -> None:
    """Through SQLite itself: a plain copy of a database in use may be torn."""
    source = str(connection.settings_dict["NAME"])
    with sqlite3.connect(source) as original, sqlite3.connect(target) as copy:
        original.backup(copy)
    target.chmod(0o600)
