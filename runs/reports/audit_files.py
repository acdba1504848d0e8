"""The audit log as a file, a part at a time; no cell is taken for a formula."""

import csv
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse

from runs.models import AuditEntry
from runs.reports.export import Format, Line
from runs.reports.score_files import MEDIA_TYPES, blocks_of, in_threads
from runs.selectors.audit import AuditFilters, AuditRow, every_audit_row
from workers.engine.spreadsheets import guard

COLUMNS = list(AuditRow.model_fields)


def send_audit(
    request: HttpRequest, entries: QuerySet[AuditEntry], filters: AuditFilters, form: Format
) -> StreamingHttpResponse:
    blocks = blocks_of(LINES[form](every_audit_row(entries, filters)))
    return StreamingHttpResponse(
        in_threads(blocks) if isinstance(request, ASGIRequest) else blocks,
        content_type=f"{MEDIA_TYPES[form]}; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="audit.{form}"'},
    )


def write_audit(path: Path, rows: Iterable[AuditRow], form: Format) -> int:
    """To a file of its owner alone; tells how many rows."""
    count = 0

    def counted() -> Iterator[AuditRow]:
        nonlocal count
        for row in rows:
            count += 1
            yield row

    with open(path, "w", encoding="utf-8", newline="", opener=for_owner) as file:
        file.writelines(LINES[form](counted()))
    return count


def for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def csv_lines(rows: Iterable[AuditRow]) -> Iterator[str]:
    writer: Any = csv.writer(Line())
    yield writer.writerow(COLUMNS)
    for row in rows:
        cells = row.model_dump(mode="json")
        yield writer.writerow([guard(cells[column]) for column in COLUMNS])


def jsonl_lines(rows: Iterable[AuditRow]) -> Iterator[str]:
    for row in rows:
        yield row.model_dump_json() + "\n"


LINES: dict[Format, Callable[[Iterable[AuditRow]], Iterator[str]]] = {
    "csv": csv_lines,
    "jsonl": jsonl_lines,
}
