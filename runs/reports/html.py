"""The report of a run as one HTML file that needs nothing else: no script, no address, no font. It
is light or dark as the reader's machine is. Its size is bounded, however large the run was."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.timezone import now

from evalsite.env import RESOURCES
from runs import __version__
from runs.reports.plain import xml_text
from runs.reports.report import CandidateLine, Report
from runs.selectors.runs.errors import advice_for
from runs.selectors.scores.worst_cases import WorstCase
from workers.engine.spec.documents import write_document

MOST_CANDIDATES = 100
MOST_WORST = 20
LONGEST_DOCUMENT = 60_000  # characters
STYLES = ("css/variables.css", "css/report.css")
# A browser that opens the file asks nobody for anything, whatever text got in.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class Row(NamedTuple):
    line: CandidateLine
    left: float  # of the interval, in percent of its scale
    width: float
    dot: float


def write_html(report: Report, document: dict[str, Any], worst: Sequence[WorstCase] = ()) -> str:
    text = write_document(document)
    context = {
        "report": report,
        "rows": [row_of(line) for line in report.candidates[:MOST_CANDIDATES]],
        "left_out": max(len(report.candidates) - MOST_CANDIDATES, 0),
        "errors": [(name, count, advice_for(name)) for name, count in report.errors.items()],
        "worst": worst[:MOST_WORST],
        "document": text[:LONGEST_DOCUMENT],
        "is_cut": len(text) > LONGEST_DOCUMENT,
        "made": now(),
        "version": __version__,
    }
    body = render_to_string("reports/run.html", context)
    return xml_text(page(report.title, body))  # also without control characters


def page(title: str, body: str) -> str:
    """The frame is here and not a template, since templates hold no styles."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{styles()}</style>\n</head>\n"
        f"<body>\n{body}</body>\n</html>\n"
    )


@cache
def styles() -> str:
    folder = RESOURCES / "static"
    return "".join((folder / name).read_text(encoding="utf-8") for name in STYLES)


def row_of(line: CandidateLine) -> Row:
    if line.score is None:
        return Row(line, 0, 0, 0)
    low, high = max(line.score.low, 0), min(line.score.high, 1)
    return Row(line, 100 * low, max(100 * (high - low), 0.5), 100 * line.score.value)
