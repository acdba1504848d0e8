"""Ends this process when its event loop has stood still for a while, whatever holds it.

Something that never gives the interpreter back, as a loop in a library in C, also holds every
thread of Python and every handler of signals. The clock that is set here runs in a thread of C,
which needs neither. Where the loop was stands in the log; the chunks of a worker count one more
death, as after any crash, and whoever supervises the process starts it again.
"""

import asyncio
import faulthandler
from pathlib import Path

BEAT_SECONDS = 1.0


async def beat(seconds: float, file: Path | None = None) -> None:
    """Runs as long as the process; `file` is touched at each beat, for checks of its container."""
    while True:
        faulthandler.dump_traceback_later(seconds, exit=True)
        if file:
            file.touch()  # noqa: ASYNC240 - in memory, or it is late: then so is the process
        await asyncio.sleep(BEAT_SECONDS)
