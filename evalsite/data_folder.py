"""Closes the data folder to the other accounts of the machine, also one that was there before."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

logger = logging.getLogger(__name__)

FOLDER_MODE = 0o700
FILE_MODE = 0o600
KEY_FILES = ("keys/secret_key", "keys/endpoint_keys")
DATABASE_FILE = "evalsite.sqlite3"


def close_to_others(folder: Path) -> None:
    """Of database, keys and Redis files. A folder that may hold other people's files, as /tmp does,
    is only warned about: closing it would lock them out."""
    if is_ours(folder):
        _close(folder, FOLDER_MODE)
    elif is_open(folder):
        _warn(folder, "it holds other things, too: give the site a folder of its own")
    for name in KEY_FILES:
        if (folder / name).exists():
            _close((folder / name).parent, FOLDER_MODE)
            _close(folder / name, FILE_MODE)


def is_ours(folder: Path) -> bool:
    """Empty, or with files of ours in it; never one that is meant for everybody."""
    if folder.stat().st_mode & stat.S_ISVTX:
        return False
    own = (DATABASE_FILE, *KEY_FILES)
    return any((folder / name).exists() for name in own) or not any(folder.iterdir())


def is_open(path: Path) -> bool:
    return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def _close(path: Path, mode: int) -> None:
    try:
        if is_open(path):
            os.chmod(path, mode)
    except OSError as error:
        _warn(path, f"it cannot be closed ({error.strerror}): chmod {mode:o} it as its owner")


def _warn(path: Path, what: str) -> None:
    logger.warning("Other accounts of this machine can read %s, and %s.", path, what)
