"""How the new-run form names the limits of a run, and what it says about each."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple


class LimitField(NamedTuple):
    label: str
    help: str
    inputmode: str = "numeric"
    placeholder: str = ""


LIMIT_FIELDS: dict[str, LimitField] = {
    "max_concurrent": LimitField(
        "Calls at once",
        "Calls that wait for an answer together. Empty: as many as the endpoint allows.",
        placeholder="no limit",
    ),
    "requests_per_minute": LimitField(
        "Requests a minute", "More calls than this wait for their turn.", placeholder="no limit"
    ),
    "timeout_seconds": LimitField(
        "Timeout, seconds", "A call without a full answer by then has failed.", inputmode="decimal"
    ),
    "attempts": LimitField(
        "Attempts a call", "How often a call is tried if the provider fails or times out."
    ),
    "batch_size": LimitField(
        "Batch size",
        "Without effect, unless the schedule under Advanced is two levels; then cases of one "
        "candidate at a time. It does not limit the number of rows.",
    ),
}


class FilledLimit(NamedTuple):
    id: str
    field: LimitField
    value: str


def fill_limits(values: Mapping[str, str]) -> Iterator[FilledLimit]:
    for name, field in LIMIT_FIELDS.items():
        yield FilledLimit(f"id_{name}", field, values.get(name, ""))
