"""The one JSON text of a value: what is sent, stored and hashed, several times for every call."""

import hashlib
import json
from typing import Any

import orjson


def to_json(value: Any) -> bytes:
    """Sorted keys, no spaces."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # half a surrogate pair, or a whole number of more than 64 bits
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def digest(value: Any) -> str:
    return hashlib.sha256(to_json(value)).hexdigest()
