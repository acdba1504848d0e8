"""Filters live in the address. What does not make sense there is left out, never an error page."""

import math
from collections.abc import Container, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from django.http import QueryDict

from runs.models import AuditAction
from runs.selectors.audit import AuditFilters
from runs.selectors.runs import run_list
from runs.selectors.runs.run_filters import STATE_FILTERS, RunFilters
from runs.selectors.scores.chosen import MOST_ROWS, MOST_TICKED, TrialChoice
from runs.selectors.scores.table import COLUMNS, USUAL
from runs.selectors.scores.trials import LARGEST_POSITION, SORTS, STATUSES, TrialFilters
from workers.engine.errors import CALL_ERRORS

LONGEST_TEXT = 200
LONGEST_ROLE = 20  # characters
LONGEST_VIEW = 2000  # characters of an address
MOST_CASES = 100  # in one address
LARGEST_ID = 2**63 - 1  # what a database's integer column can hold


def read_whole_number(text: str | None) -> int | None:
    if text is None or not text.isascii() or not text.isdecimal():
        return None
    return min(int(text[:20]), LARGEST_ID)


def read_number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def read_text(text: str | None) -> str:
    return (text or "").replace("\x00", "").strip()[:LONGEST_TEXT]


def read_cases(text: str | None) -> tuple[int, ...]:
    """Rows of the dataset, as in `17` or `4,17`."""
    numbers = [read_whole_number(part.strip()) for part in (text or "").split(",")[:MOST_CASES]]
    return tuple(number for number in numbers if number is not None and number <= LARGEST_POSITION)


def read_choice(text: str | None, choices: Container[str]) -> str:
    return text if text and text in choices else ""


def read_day(text: str | None) -> datetime | None:
    """Its first moment, in UTC."""
    try:
        return datetime.strptime(text or "", "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None


def read_last_day(text: str | None) -> datetime | None:
    """The first moment after it, in UTC."""
    last = read_day(text)
    return last + timedelta(days=1) if last and last.year < 9999 else None


def read_audit_filters(query: QueryDict) -> AuditFilters:
    return AuditFilters(
        person=read_text(query.get("person")),
        action=read_choice(query.get("action"), AuditAction.values),
        about=read_text(query.get("about")),
        since=read_day(query.get("from")),
        until=read_last_day(query.get("to")),
    )


def read_run_filters(query: QueryDict, person_id: int | None = None) -> RunFilters:
    """`person_id`: whose stars are meant."""
    return RunFilters(
        state=read_choice(query.get("state"), STATE_FILTERS),
        kind=read_text(query.get("kind"))[:20],
        text=read_text(query.get("q")),
        owner=read_text(query.get("owner")),
        endpoint=read_text(query.get("endpoint")),
        tag=read_text(query.get("tag")),
        since=read_day(query.get("from")),
        until=read_last_day(query.get("to")),
        starred_by=person_id if query.get("starred") else None,
    )


# What a saved view keeps of an address: filters and columns, not the place of a page.
VIEW_FIELDS = (
    *("q", "state", "kind", "owner", "endpoint", "tag", "from", "to", "starred", "show"),
)


def read_view_query(text: str) -> str:
    """The part of an address that a saved view keeps, always in the same order."""
    given = QueryDict(text[:LONGEST_VIEW])
    kept = {name: [read_text(value) for value in given.getlist(name)] for name in VIEW_FIELDS}
    return urlencode({name: [one for one in kept[name] if one] for name in kept}, doseq=True)


def read_trial_filters(query: QueryDict) -> TrialFilters:
    return TrialFilters(
        status=read_choice(query.get("status"), STATUSES),
        candidate=read_whole_number(query.get("candidate")),
        cases=read_cases(query.get("case")),
        error=read_choice(query.get("error"), CALL_ERRORS),
        score_min=read_number(query.get("min")),
        score_max=read_number(query.get("max")),
        text=read_text(query.get("q")),
        role=read_text(query.get("role"))[:LONGEST_ROLE],
        sort=read_choice(query.get("sort"), SORTS) or "position",
    )


def read_trial_choice(query: QueryDict) -> TrialChoice:
    """Trials that were ticked, as in `trial=3&trial=5`, or whole rows of tries, as in `row=2,17`:
    a candidate and a case. Without any, those the filters leave."""
    ticked = (read_whole_number(text) for text in query.getlist("trial")[:MOST_TICKED])
    positions = {number for number in ticked if number is not None and number <= LARGEST_POSITION}
    pairs = (read_cases(text) for text in query.getlist("row")[:MOST_ROWS])
    rows = {(pair[0], pair[1]) for pair in pairs if len(pair) == 2}
    return TrialChoice(read_trial_filters(query), tuple(sorted(positions)), tuple(sorted(rows)))


def read_columns(
    query: QueryDict,
    remembered: str,
    columns: Iterable[str] = COLUMNS,
    usual: Iterable[str] = USUAL,
) -> tuple[str, ...]:
    """The columns of a table: those in the address, else those that this browser remembers, else
    the usual ones."""
    if "show" in query:
        wanted = query.getlist("show")
    else:
        wanted = remembered.split(".") if remembered else list(usual)
    return tuple(name for name in columns if name in wanted)


def read_run_columns(query: QueryDict, remembered: str) -> tuple[str, ...]:
    return read_columns(query, remembered, run_list.COLUMNS, run_list.USUAL)


def trial_query(filters: TrialFilters, show: Sequence[str] = ()) -> str:
    """The filters and the columns as they stand in an address, without a page's place."""
    values = {
        "status": filters.status,
        "candidate": filters.candidate,
        "case": ",".join(map(str, filters.cases)),
        "error": filters.error,
        "min": filters.score_min,
        "max": filters.score_max,
        "q": filters.text,
        "role": filters.role,
        "sort": "" if filters.sort == "position" else filters.sort,
        "show": [name for name in show if name == "question" or name in COLUMNS] or None,
    }
    given = {name: value for name, value in values.items() if value not in ("", None)}
    return urlencode(given, doseq=True)
