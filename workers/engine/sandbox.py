"""Runs code that people wrote in their browser, in Monty: a Python without files, network or host.

The code never meets our interpreter. A process of the sandbox's own runs it, with limits of time
and memory, and what it says is plain data. Each call begins anew, so that no answer can leave
anything for the next one, and clock and chance stand still, so that equal answers are judged alike.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from workers.engine.errors import ScorerFailed

if TYPE_CHECKING:
    from pydantic_monty import Monty, MontySession, OSPolicy, ResourceLimits

SECONDS = 1.0  # of computing for one answer
PATIENCE_SECONDS = 3.0  # after which a process that does not even look at its clock is killed
MOST_BYTES = 32 * 1024**2
LONGEST_TOLD = 300  # characters of what went wrong
FIRST_FED = "<python-input-0>"  # how Monty calls what a session was given first: the source


def call_function(source: str, name: str, arguments: Mapping[str, Any]) -> Any:
    """What the function of this name in the source gives for the arguments. ScorerFailed says what
    went wrong, in words of the code's own."""
    call = f"{name}({', '.join(arguments)})"
    with opened(pool()) as session:
        run(session, source)
        return run(session, call, arguments)


def problem_with_source(source: str, name: str) -> str:
    """Why the code cannot be called, found by loading it. Empty: it can."""
    from pydantic_monty import Monty

    try:
        with Monty(**PROCESSES) as monty, opened(monty) as session:
            run(session, source)
            run(session, name)
    except ScorerFailed as error:
        if f"name '{name}' is not defined" in str(error):
            return f"It has no function {name}. Write `def {name}(answer, expected, case): …`."
        return f"It cannot be loaded: {error}"
    return ""


PROCESSES: dict[str, Any] = {"max_processes": 1, "request_timeout": PATIENCE_SECONDS}


@cache
def pool() -> "Monty":
    """One process, which is kept for the answers to come and ends with this one."""
    from pydantic_monty import Monty

    return Monty(**PROCESSES).__enter__()


@contextmanager
def opened(monty: "Monty") -> Iterator["MontySession"]:
    limits: ResourceLimits = {
        "max_feed_duration_secs": SECONDS,
        "max_memory": MOST_BYTES,
        "max_suspensions": 100,
    }
    still: OSPolicy = {
        "sleep": "zero",
        "random_start": {"seed": 0},
        "datetime": datetime(2000, 1, 1),  # noqa: DTZ001 - of the sandbox, in UTC
    }
    with monty.checkout(limits=limits, os_policy=still) as session:
        yield session


def run(session: "MontySession", code: str, inputs: Mapping[str, Any] | None = None) -> Any:
    from pydantic_monty import MontyCrashedError, MontyError

    try:
        return session.feed_run(code, inputs=dict(inputs or {}), print_callback=say_nothing)
    except MontyCrashedError as error:
        if error.timed_out:
            raise ScorerFailed(f"It took longer than {SECONDS:g} s.") from None
        raise ScorerFailed("It needed too much memory, or broke its process.") from None
    except MontyError as error:
        raise ScorerFailed(told(error)) from None


def told(error: Any) -> str:
    """The error with its line, as in a traceback of Python."""
    text = str(error)
    if text.startswith("TimeoutError: feed time limit"):
        return f"It took longer than {SECONDS:g} s."
    if text.startswith("MemoryError"):
        return f"It needed more than {MOST_BYTES // 1024**2} MB."
    frames = error.traceback() if hasattr(error, "traceback") else []
    lines = [frame.line for frame in frames if frame.filename == FIRST_FED]
    where = f" (line {lines[-1]})" if lines else ""
    return f"{text[:LONGEST_TOLD]}{where}"


def say_nothing(stream: str, text: str) -> None:
    """What it prints is dropped: nobody would read it."""
