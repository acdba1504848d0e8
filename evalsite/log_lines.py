"""Log lines that stay one line each, whatever text of a person or a model is in them."""

from __future__ import annotations

import logging
import re
from typing import Any

CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
LONGEST_MESSAGE = 4000  # characters; a log is for reading


class LineFormatter(logging.Formatter):
    """time LEVEL logger: message, with control characters written out."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's name
        record.message = write_out_controls(record.message)[:LONGEST_MESSAGE]
        return super().formatMessage(record)

    def formatException(self, exc_info: Any) -> str:  # noqa: N802  # logging's name
        """Tracebacks keep their lines, each marked, so that none can pass for a log line."""
        lines = super().formatException(exc_info).splitlines()
        return "\n".join(f"  | {write_out_controls(line)}" for line in lines)


def write_out_controls(text: str) -> str:
    return CONTROL_CHARACTERS.sub(
        lambda found: found.group().encode("unicode_escape").decode(), text
    )
