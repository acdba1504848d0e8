"""What processes have used of the processor, as the kernel counts it."""

import os
from collections.abc import Iterable
from pathlib import Path

USER, SYSTEM = 11, 12  # fields of /proc/PID/stat after the name in brackets, in clock ticks


class ProcessGone(Exception):
    """A process that was to be measured has ended."""


def cpu_seconds(pids: Iterable[int]) -> float | None:
    """Processor time of these processes so far; None where there is no /proc."""
    if not Path("/proc/self/stat").exists():
        return None
    ticks_per_second = os.sysconf("SC_CLK_TCK")
    return sum(ticks_of(pid) for pid in pids) / ticks_per_second


def ticks_of(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        raise ProcessGone(f"Process {pid} has ended.") from None
    fields = text.rpartition(")")[2].split()
    if fields[0] in "ZX":  # ended, and nobody has asked for its exit code yet
        raise ProcessGone(f"Process {pid} has ended.")
    return int(fields[USER]) + int(fields[SYSTEM])
