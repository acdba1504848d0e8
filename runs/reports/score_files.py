"""Sends the scores of a run as a file, a part at a time, however many there are."""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime

from channels.db import database_sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

from runs.models import Run
from runs.reports.export import LINES, Format
from runs.selectors.scores.lines import read_lines
from runs.selectors.scores.trials import TrialFilters

BLOCK_CHARACTERS = 64 * 1024  # sent at once: a line each would be a thousand small packets
MEDIA_TYPES: dict[Format, str] = {"csv": "text/csv", "jsonl": "application/x-ndjson"}


def send_scores(
    request: HttpRequest,
    run: Run,
    form: Format,
    filters: TrialFilters,
    since: datetime | None = None,
    *,
    with_records: bool = False,
) -> StreamingHttpResponse:
    scores = read_lines(run, filters, since, with_records=with_records)
    blocks = blocks_of(LINES[form](scores, with_records))
    return StreamingHttpResponse(
        in_threads(blocks) if isinstance(request, ASGIRequest) else blocks,
        content_type=f"{MEDIA_TYPES[form]}; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="run-{run.pk}-scores.{form}"'},
    )


def blocks_of(lines: Iterator[str]) -> Iterator[bytes]:
    waiting: list[str] = []
    size = 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= BLOCK_CHARACTERS:
            yield encode(waiting)
            waiting, size = [], 0
    yield encode(waiting)


def encode(lines: list[str]) -> bytes:
    return "".join(lines).encode("utf-8", "backslashreplace")


async def in_threads(blocks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """A plain iterator would be read to its end, and kept in memory, before the first byte goes."""
    while (block := await database_sync_to_async(next)(blocks, None)) is not None:
        yield block
