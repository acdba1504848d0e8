"""One event, one line, whatever text is in it."""

import logging
import sys

from evalsite.log_lines import LONGEST_MESSAGE, LineFormatter


def line_for(message, *args, error=False):
    exc_info = sys.exc_info() if error else None
    record = logging.LogRecord("runs", logging.INFO, "f.py", 1, message, args, exc_info)
    return LineFormatter().format(record)


def test_text_of_a_person_is_cut_and_cannot_start_a_line_or_colour_a_terminal():
    assert len(line_for("x" * 10 * LONGEST_MESSAGE)) < LONGEST_MESSAGE + 100
    line = line_for("Run %s started", "a\n2026 INFO root: all is well\x1b[31m\u202e")
    assert len(line.splitlines()) == 1
    assert r"a\n2026 INFO root: all is well\x1b[31m\u202e" in line


def test_the_lines_of_a_traceback_are_marked():
    try:
        raise ValueError("bad\n2026 INFO root: all is well")
    except ValueError:
        first, *rest = line_for("It failed", error=True).splitlines()
    assert first.endswith("It failed")
    assert all(line.startswith("  | ") for line in rest)
