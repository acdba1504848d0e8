"""How long tests wait for what must come: only something that hangs takes so long.

How quick something is, only tests say that are marked `alone`. The others run beside each other, on
machines that may have other things to do.
"""

import time
from collections.abc import Callable

PATIENCE_SECONDS = 240.0  # less than the `timeout` of pyproject.toml: tests can say what hangs


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for another process's doing."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"Not within {seconds} s."
        time.sleep(0.02)
