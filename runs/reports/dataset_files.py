"""The rows of a dataset as a file, a part at a time. In CSV no cell is taken for a formula, so a
text may have an apostrophe more than its row; JSONL has the rows as they are."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.text import slugify

from runs.models import Case, Dataset
from runs.reports.export import Format, Line
from runs.reports.score_files import MEDIA_TYPES, blocks_of, in_threads
from workers.engine.spreadsheets import guard

PAGE_ROWS = 200  # a field may have 256 KB, and a page of rows is in memory at once

Row = Mapping[str, str]


def send_rows(request: HttpRequest, dataset: Dataset, form: Format) -> StreamingHttpResponse:
    blocks = blocks_of(LINES[form](dataset, rows_of(dataset)))
    name = f"{slugify(dataset.name) or 'dataset'}-v{dataset.version}.{form}"
    return StreamingHttpResponse(
        in_threads(blocks) if isinstance(request, ASGIRequest) else blocks,
        content_type=f"{MEDIA_TYPES[form]}; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def write_rows(path: Path, dataset: Dataset, form: Format) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(LINES[form](dataset, rows_of(dataset)))


def rows_of(dataset: Dataset) -> Iterator[Row]:
    """Every page is a query of its own, so that a slow reader holds no connection."""
    found = Case.objects.filter(dataset=dataset).order_by("position")
    last = -1
    while page := list(found.filter(position__gt=last)[:PAGE_ROWS]):
        yield from (case.fields for case in page)
        last = page[-1].position


def csv_lines(dataset: Dataset, rows: Iterable[Row]) -> Iterator[str]:
    writer: Any = csv.writer(Line())
    yield writer.writerow([guard(column) for column in dataset.columns])
    for row in rows:
        yield writer.writerow([guard(row.get(column, "")) for column in dataset.columns])


def jsonl_lines(dataset: Dataset, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        ordered = {column: row.get(column, "") for column in dataset.columns}
        yield json.dumps(ordered, ensure_ascii=False) + "\n"


LINES: dict[Format, Callable[[Dataset, Iterable[Row]], Iterator[str]]] = {
    "csv": csv_lines,
    "jsonl": jsonl_lines,
}
