"""A command on a terminal of its own: what it shows, and keys to press."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path

from evalsite.embedded.parts import MANAGE
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.site import environment_of_a_site

CTRL_C = "\x03"


def terminal_environment(data: Path, **variables: str) -> dict[str, str]:
    seen = {"TERM": "xterm", "COLUMNS": "160"}
    return environment_of_a_site(EVALSITE_DATA=str(data), **seen, **variables)


class Terminal:
    def __init__(self, data: Path, *words: object, **variables: str) -> None:
        self._screen, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
        self.process = subprocess.Popen(
            [*MANAGE, *map(str, words)],
            env=terminal_environment(data, **variables),
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        os.close(inside)
        self.text = ""

    def wait_for(self, pattern: str) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not re.search(pattern, self.text):
            assert time.monotonic() < end, f"No {pattern!r} on the screen:\n{self.text}"
            assert self._read(), f"It ended without {pattern!r}:\n{self.text}"

    @property
    def plain(self) -> str:
        """What it shows, without colours and movements of the cursor."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.text)

    def press(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def end(self) -> int:
        """Its exit code, once it has ended by itself."""
        end = time.monotonic() + PATIENCE_SECONDS
        while self._read():
            assert time.monotonic() < end, f"It does not end:\n{self.text}"
        return self.process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._screen)

    def _read(self) -> bool:
        """False when there is nobody left to write."""
        if not select.select([self._screen], [], [], 0.2)[0]:
            return True
        try:
            more = os.read(self._screen, 65536)
        except OSError:  # how Linux says that the other end is closed
            return False
        self.text += more.decode(errors="replace")
        return bool(more)
