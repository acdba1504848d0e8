"""One `serve` per data folder: two would share a Redis log and lose each other's messages."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class DataFolderTaken(Exception):
    """Another `serve` works in this folder."""


@contextmanager
def only_one_in(data: Path) -> Iterator[None]:
    """Hold the folder. The kernel lets go of it when this process ends, however it ends."""
    path = data / "serve.lock"
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            raise DataFolderTaken(
                f"The data folder {data} is in use by another `serve` (process {lock.read()})."
                " Stop that one, or choose another folder: --data DIR"
            ) from error
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
