"""The one thread of a worker process that talks to the database, with the one connection it has.

Its own, not asgiref's: hundreds of questions a second go through it, and each would pay for context
and thread bookkeeping that nothing here needs.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import DatabaseError, connection

_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="database")


async def in_database(function: Callable[..., Any], *args: Any) -> Any:
    """Run a database function there, and wait for what it finds."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_thread, _on_usable_connection, function, *args)


def _on_usable_connection(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except DatabaseError:
        connection.close_if_unusable_or_obsolete()  # or every later question would fail, too
        raise
