"""Lists: opaque cursors, chosen fields, and the moment from which a client asks again."""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Generic, TypeVar

import orjson
from django.http import HttpResponse
from django.utils import timezone
from django.utils.crypto import salted_hmac
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from runs.api.problems import refuse
from workers.engine.spec.depth import without_deep_parts

CURSOR_VERSION = 1
MOST_ROWS = 500
# Rows are written up to a few seconds after the moment that they carry: what is asked for again
# from here on may come twice, and nothing is missed.
LATE_SECONDS = 10

Item = TypeVar("Item", bound=BaseModel)

Fields = Annotated[
    str,
    Field(
        max_length=1000,
        description="Only these parts of each item, separated by commas.",
    ),
]


def refuse_number(value: Any) -> Any:
    """Of a number nobody knows which clock and unit it means."""
    if not isinstance(value, str) or "-" not in value[1:]:
        raise ValueError("Write a moment as in 2026-11-16T08:30:00Z.")
    return value


Moment = Annotated[AwareDatetime, BeforeValidator(refuse_number)]
Since = Annotated[
    Moment,
    Field(description="Only what changed since then: the `as_of` of an earlier answer."),
]


Cursor = Annotated[
    str, Field(max_length=500, description="The `next_cursor` of the answer before.")
]


class PageQuery(BaseModel):
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS, description="Items in one answer.")] = 50
    cursor: Cursor = ""


class ArchiveQuery(PageQuery):
    archived: Annotated[bool, Field(description="The archived ones instead.")] = False


class Page(BaseModel, Generic[Item]):
    data: list[Item]
    next_cursor: str | None
    as_of: datetime

    model_config = ConfigDict(json_schema_extra={"required": ["data", "next_cursor", "as_of"]})


def answer(content: Any, status: int = 200, **headers: str) -> HttpResponse:
    body = json_text(content)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpResponse(body, status=status, content_type="application/json", headers=named)


def json_text(content: Any) -> bytes:
    """Without what is nested too deeply to be written: older versions of the site stored some."""
    options = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS
    try:
        return orjson.dumps(content, option=options)
    except TypeError:
        return orjson.dumps(without_deep_parts(content), option=options)


class ApiList(Generic[Item]):
    """One list of the API: cuts what was read into a page and says where the next one begins."""

    def __init__(self, name: str, item: type[Item], place: str) -> None:
        self.name, self.item, self.place_field = name, item, place

    def place(self, cursor: str, *filters: Any) -> Any:
        """Where the page starts; None at the beginning."""
        return read_cursor(cursor, self.name, *filters)

    def page(
        self,
        rows: Sequence[Item | dict[str, Any]],
        query: PageQuery,
        *filters: Any,
        fields: str = "",
        **more: Any,
    ) -> HttpResponse:
        """Of the rows, which are one more than asked for if there are more. Rows that are plain
        have the shape of an item already."""
        shown = [plain(row) for row in rows[: query.limit]]
        wanted = self.chosen(fields)
        cursor = None
        if len(rows) > query.limit:
            cursor = write_cursor(self.name, filters, shown[-1][self.place_field])
        content = {
            "data": [pick(row, wanted) for row in shown] if wanted else shown,
            "next_cursor": cursor,
            "as_of": as_of(),
            **more,
        }
        return answer(content)

    def chosen(self, fields: str) -> set[str] | None:
        if not fields:
            return None
        wanted = {name.strip() for name in fields.split(",")}
        if unknown := sorted(wanted - self.item.model_fields.keys()):
            allowed = ", ".join(self.item.model_fields)
            raise refuse("fields", f"Unknown: {', '.join(unknown)}. Allowed here: {allowed}.")
        return wanted


def plain(row: BaseModel | dict[str, Any]) -> dict[str, Any]:
    return row if isinstance(row, dict) else row.model_dump()


def pick(row: dict[str, Any], wanted: set[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name in wanted}


def read_cursor(cursor: str, name: str, *filters: Any) -> Any:
    """The place in a list that a cursor means; None without one. It only fits its own question."""
    if not cursor:
        return None
    try:
        version, place, signature = orjson.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (binascii.Error, ValueError, TypeError):
        raise refuse("cursor", "This is no cursor. Send a next_cursor unchanged.") from None
    if version != CURSOR_VERSION or signature != sign(name, filters, place):
        raise refuse("cursor", "This cursor belongs to another question. Start without one.")
    return place


def write_cursor(name: str, filters: tuple[Any, ...], place: Any) -> str:
    content = [CURSOR_VERSION, place, sign(name, filters, place)]
    return base64.urlsafe_b64encode(orjson.dumps(content)).decode()


def sign(name: str, filters: tuple[Any, ...], place: Any) -> str:
    """Keyed, so that a place can only come from us: it goes into queries as it is."""
    return salted_hmac("runs.api.cursor", repr((name, filters, place))).hexdigest()[:24]


def as_of() -> datetime:
    return timezone.now() - timedelta(seconds=LATE_SECONDS)
