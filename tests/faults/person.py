"""Somebody who uses the site: does through its services what one JSON line each asks for.

A process of its own: Django knows one database, and every cluster under test has another.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from evalsite.embedded.child_processes import die_with_parent
from evalsite.env import BASE_DIR


class Refused(Exception):
    """The site did not do what was asked; the text is its own."""


class Person:
    """The near end: a method call is a line to the process, its answer the line back."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.person"],
            env=dict(env),
            cwd=BASE_DIR,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            preexec_fn=die_with_parent(),  # noqa: PLW1509  # it only makes two system calls
        )

    def ask(self, what: str, **values: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": what, **values}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "refused" in answer:
            raise Refused(answer["refused"])
        return answer["answer"]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def serve() -> None:
    """The far end."""
    import django

    django.setup()
    from django.db import connections

    from tests.faults import wishes

    for line in sys.stdin:
        wish = json.loads(line)
        do: Callable[..., Any] = getattr(wishes, wish.pop("do"))
        try:
            answer = {"answer": do(**wish)}
        except Exception as problem:  # noqa: BLE001  # whatever it is, it is told, not hidden
            answer = {"refused": f"{type(problem).__name__}: {problem}"}
        connections.close_all()  # the database may be another process by the next wish
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
