"""Children that cannot outlive their parent, and their ends put into words."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1  # from linux/prctl.h


def die_with_parent() -> Callable[[], None] | None:
    """What to run in a new child (preexec_fn) so that the kernel kills it when we are killed.

    None where the kernel cannot do it (macOS): there the next start cleans up.
    """
    if sys.platform != "linux":
        return None
    set_process_option = ctypes.CDLL(None).prctl  # looked up here: a forked child must not
    parent = os.getpid()

    def ask_the_kernel() -> None:
        set_process_option(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died between the fork and the line above
            os._exit(1)

    return ask_the_kernel


def signal_group(pid: int, number: signal.Signals) -> None:
    """Signal a child that leads its own group, with everything it started."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass  # all of them have ended (macOS answers with the second)


def describe_end(returncode: int) -> str:
    if returncode >= 0:
        return f"ended with exit code {returncode}"
    try:
        return f"was ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was ended by signal {-returncode}"
