"""The child's side of the process lane: takes pieces of work from its parent, one at a time.

It runs as a file of its own and imports the standard library only, so that it starts quickly. The
parent imports it for the frames that both sides send. Neither reads a pickle of anybody else.
"""

import faulthandler
import gc
import os
import pickle  # noqa: TID251 - between a process and its own children; nothing is stored
import resource
import signal
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO, NoReturn

NAME = "workers.engine.lanes.child_program"
LENGTH = struct.Struct("!Q")  # comes before each frame
LONGEST_MESSAGE = 300  # characters of an exception that are shown

_is_last = False  # whether the piece under way is the last one of this process


def retire() -> None:
    """For a piece that leaves something behind which nobody can end, such as a thread: its result
    counts, and its process takes no other piece. Elsewhere it changes nothing."""
    global _is_last
    _is_last = True


def pack(content: object) -> bytes:
    return pickle.dumps(content, pickle.HIGHEST_PROTOCOL)


def unpack(data: bytes) -> Any:
    return pickle.loads(data)  # noqa: S301 - see above


def in_frame(data: bytes) -> bytes:
    return LENGTH.pack(len(data)) + data


def read_frame(pipe: BinaryIO) -> bytes | None:
    """None when the parent has closed the pipe, or has ended in the middle of a frame."""
    head = pipe.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    data = pipe.read(length)
    return data if len(data) == length else None


def main() -> None:
    sys.modules[NAME] = sys.modules["__main__"]  # what the work imports is this module, not a twin
    keep_signals_for_the_parent()
    questions, answers = take_pipes()
    sys.path[:], most_memory = unpack(read_frame(questions) or end())
    limit_memory(most_memory)
    send(answers, b"")  # ready: only now does the time of a piece begin
    pieces: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=listen, args=(questions, pieces), daemon=True).start()
    own_pid = os.getpid()
    while True:
        seconds, work = unpack(pieces.get())
        # The parent kills us when the time is over. If it cannot any more, and the work keeps the
        # interpreter's lock so that no thread sees that, this watchdog still ends us: it is in C.
        faulthandler.dump_traceback_later(2 * seconds, exit=True)
        answer = attempt(work)
        if os.getpid() != own_pid:  # the work forked, and this is the copy
            os._exit(0)
        send(answers, answer)
        faulthandler.cancel_dump_traceback_later()  # waits for its thread: the parent need not
        if _is_last:
            end()


def keep_signals_for_the_parent() -> None:
    """Ctrl-C and service managers may signal every process. The parent decides what ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A handler, since programs that the work starts would inherit SIG_IGN and could not be stopped.
    signal.signal(signal.SIGTERM, lambda *_: None)
    os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))


def limit_memory(most_bytes: int) -> None:
    """What is asked for beyond it raises MemoryError. It counts what is written to, not libraries
    and reserved addresses. Where the system does not keep to it, as macOS, nothing is limited."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = most_bytes if hard == resource.RLIM_INFINITY else min(most_bytes, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def load(modules: Sequence[str]) -> None:
    """A piece of work of its own, before one that needs them."""
    for name in modules:
        import_module(name)
    gc.freeze()  # they stay: looking through them again and again would take time of every piece


def take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output as only we know them. What the work prints goes to standard error,
    where the worker's log is; what it reads is empty."""
    nowhere = os.open(os.devnull, os.O_RDWR)  # becomes standard error if there is none
    questions, answers = os.dup(0), os.dup(1)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    return open(questions, "rb"), open(answers, "wb")


def listen(questions: BinaryIO, pieces: SimpleQueue[bytes]) -> None:
    """Runs in a thread, so that the parent's end is seen in the middle of a piece, too."""
    while (piece := read_frame(questions)) is not None:
        pieces.put(piece)
    end()


def attempt(work: bytes) -> bytes:
    """Whether it gave a result, and that, or the type and message of what was raised: an exception
    itself may not survive pickling."""
    try:
        function, arguments = unpack(work)
        result = function(*arguments)
        return pack((True, result, _is_last))
    except MemoryError:
        most, _ = resource.getrlimit(resource.RLIMIT_DATA)
        told = f"MemoryError: a process may use {most // 1024**2:,} MB."
        return pack((False, told, _is_last))
    except BaseException as error:  # noqa: BLE001 - the edge of a process: told to the parent
        return pack((False, describe(error), _is_last))


def describe(error: BaseException) -> str:
    """Its type and message, as text that any database stores: no NUL, no half surrogates."""
    name = type(error).__name__
    try:
        told = f"{name}: {error}"[:LONGEST_MESSAGE]
    except Exception:  # noqa: BLE001 - an exception of somebody else's, with a broken __str__
        told = f"{name}, whose message cannot be read"
    return told.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def send(answers: BinaryIO, data: bytes) -> None:
    try:
        answers.write(in_frame(data))
        answers.flush()
    except OSError:  # the parent is gone
        end()


def end() -> NoReturn:
    """With all that the work has started: the parent made us the leader of a group."""
    with suppress(OSError):
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main()
