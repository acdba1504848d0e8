"""Makes the database of a data folder, or brings it up to date, before a command uses it."""

import time
from collections.abc import Callable

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from evalsite.embedded.data_lock import DataFolderTaken, only_one_in
from evalsite.env import PROGRAM
from runs.management.refusals import bad_input

SITE_SECONDS = 20.0  # a site that starts just now migrates within this time
LOOK_SECONDS = 0.2


def bring_up_to_date(tell: Callable[[str], None]) -> None:
    """As `serve` does it. A database that DATABASE_URL names may belong to others: their sites
    would meet tables that they do not know, so that a person must say it."""
    if not missing_migrations():
        return
    if settings.ENVIRONMENT.database_url is not None:
        raise bad_input(
            "The database of DATABASE_URL is new or older than this version. Run "
            f"`{PROGRAM} migrate` to bring it up to date, then try again."
        )
    end = time.monotonic() + SITE_SECONDS
    while not migrate_alone(tell):
        if time.monotonic() > end:
            raise bad_input(
                f"The site that runs in {settings.EVALSITE_DATA} is older than this version. "
                "Stop it and start it again: it brings its database up to date."
            )
        time.sleep(LOOK_SECONDS)


def migrate_alone(tell: Callable[[str], None]) -> bool:
    """False while somebody else, who may be doing the same, holds the folder."""
    if not missing_migrations():
        return True
    try:
        with only_one_in(settings.EVALSITE_DATA):
            is_new = not connection.introspection.table_names()
            call_command("migrate", interactive=False, verbosity=0)
    except DataFolderTaken:
        return False
    done = "Made a new database" if is_new else "Brought the database up to date"
    tell(f"{done} in {settings.EVALSITE_DATA}.")
    return True


def missing_migrations() -> int:
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
