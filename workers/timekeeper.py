"""Does what is due by the clock: one per worker process, whose rows are claimed one by one."""

import asyncio
import logging
from datetime import datetime

from django.db import DatabaseError, connection

from runs.selectors.clock import database_now
from runs.services.due import do_what_is_due, is_anything_due
from workers.database_thread import in_database

logger = logging.getLogger(__name__)

LOOK_SECONDS = 5.0


class Timekeeper:
    async def run(self) -> None:
        while True:
            try:
                await self.tick(await in_database(database_now))
            except DatabaseError:
                pass  # it is away: what is due is still due when it is back
            except Exception:
                logger.exception("What is due could not be done; runs go on without.")
            await asyncio.sleep(LOOK_SECONDS)

    async def tick(self, now: datetime) -> None:
        """Comparing large runs takes a second or two: not on the thread that scores wait for."""
        if await in_database(is_anything_due, now):
            await asyncio.to_thread(do_and_disconnect, now)


def do_and_disconnect(now: datetime) -> None:
    try:
        do_what_is_due(now)
    finally:
        connection.close()  # the thread is one of many that may never ask again
