"""Wall clocks that are wrong and jump, one per process: a few lines of C in front of libc."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

SHIM = Path(__file__).with_name("clock_shim.c")


class Unplayable(Exception):
    """This machine lacks what a row needs."""


def build_shim(folder: Path) -> Path:
    library = folder / "clock_shim.so"
    argv = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SHIM), "-ldl"]
    try:
        subprocess.run(argv, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unplayable(f"A wrong clock needs a C compiler: {error}") from error
    return library


class WrongClock:
    def __init__(self, library: Path, name: str) -> None:
        self._file = library.with_name(f"clock_{name}")
        self.set(0)
        self.environment = {"LD_PRELOAD": str(library), "FAULT_CLOCK": str(self._file)}

    def set(self, seconds: int) -> None:
        """Wrong by so much from now on: the processes that use it see a jump."""
        if not self._file.exists():
            self._file.write_bytes(struct.pack("=q", seconds))
            return
        with self._file.open("r+b", buffering=0) as file:  # in place: it is mapped
            file.write(struct.pack("=q", seconds))
