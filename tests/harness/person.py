"""Somebody who uses a site: does through its services what one JSON line each asks for.

A process of its own: Django knows one database, and every site under test has another. What may be
asked for are the functions of tests/harness/wishes.py.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from evalsite.embedded.loose_parts import LooseParts


class Refused(Exception):
    """The site did not do what was asked; the text is its own."""


class Person:
    """The near end: a method call is a line to the process, its answer the line back."""

    def __init__(self, parts: LooseParts) -> None:
        argv = [sys.executable, "-m", "tests.harness.person"]
        self._process = parts.start("person", argv, talks=True)

    def ask(self, what: str, **values: Any) -> Any:
        popen = self._process.popen
        assert popen.stdin is not None
        assert popen.stdout is not None
        popen.stdin.write(json.dumps({"do": what, **values}) + "\n")
        popen.stdin.flush()
        answer = json.loads(popen.stdout.readline() or '{"refused": "It has ended."}')
        if "refused" in answer:
            raise Refused(answer["refused"])
        return answer["answer"]

    def close(self) -> None:
        self._process.kill()


def serve() -> None:
    """The far end."""
    import django

    django.setup()
    from django.db import connections

    from tests.harness import wishes

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
