"""The record of a trial as it is kept: JSON of a bounded size."""

from typing import Any

from workers.engine.errors import BadRecord
from workers.engine.json_text import to_json

LARGEST_RECORD = 1_000_000  # bytes of JSON; 32 steps with four texts each are a quarter of it


def encode_record(document: Any) -> bytes | None:
    """None if there is no record. Refused, not shortened: half an episode would replay
    as another one."""
    if document is None:
        return None
    try:
        record = to_json(document)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRecord(f"The record is not JSON: {error}") from None
    if len(record) > LARGEST_RECORD:
        raise BadRecord(
            f"The record has {len(record):,} bytes. At most {LARGEST_RECORD:,} are kept."
        )
    return record
