"""`manage.py backup FOLDER`: a copy of database and keys, taken while everything goes on."""

import shutil
import sqlite3
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import Tags
from django.core.management.base import BaseCommand
from django.db import connection

from runs.management.refusals import bad_input, refusing


class Command(BaseCommand):
    help = (
        "Copies the SQLite database and the keys into a new folder. `manage.py serve --data "
        "FOLDER` goes on from it."
    )

    requires_system_checks = (Tags.compatibility,)  # the others would load every page

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="folder to make; must not exist yet")

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        if connection.vendor != "sqlite":
            raise bad_input(
                "The database is PostgreSQL: use pg_dump for it, and copy the folder"
                f" {Path(settings.EVALSITE_DATA) / 'keys'} beside the dump."
            )
        if not Path(connection.settings_dict["NAME"]).exists():
            raise bad_input(f"There is no database in {settings.EVALSITE_DATA} to copy.")
        if folder.exists():
            raise bad_input(f"{folder} exists. Name a folder that does not exist yet.")
        with refusing():
            folder.mkdir(parents=True, mode=0o700)
            copy_keys(folder)
            copy_database(folder / "evalsite.sqlite3")
        self.stdout.write(f"Copied to {folder}. It holds the keys: guard it like a password.")


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
