"""The list of prices that is kept with the site: what models cost at the providers themselves.

`make prices` writes prices.json; nothing here is asked while calls are made.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from workers.engine.calling.prices import Price
from workers.engine.providers.known import known_provider_at

PRICES_FILE = Path(__file__).with_name("prices.json")


class PriceList(NamedTuple):
    day: date
    source: str
    providers: Mapping[str, list[list[Any]]]


@lru_cache(maxsize=1)
def kept_list() -> PriceList:
    document = json.loads(PRICES_FILE.read_text())
    return PriceList(
        date.fromisoformat(document["date"]), document["source"], document["providers"]
    )


def listed_price(base_url: str, model: str) -> Price | None:
    """Of a model at the provider whose address this is. None: unknown, as for other addresses."""
    known = known_provider_at(base_url)
    rows = kept_list().providers.get(known.price_list, []) if known else []
    name = model.lower().removeprefix("models/")  # how Google lists its own
    for clause, given, back in rows:
        if matches(clause, name):
            return None if given is None else Price(given, back)
    return None


def matches(clause: Mapping[str, Any], name: str) -> bool:
    [(word, value)] = clause.items()
    return MATCHERS[word](name, value)


MATCHERS: dict[str, Callable[[str, Any], bool]] = {
    "equals": lambda name, value: name == value.lower(),
    "starts_with": lambda name, value: name.startswith(value.lower()),
    "ends_with": lambda name, value: name.endswith(value.lower()),
    "contains": lambda name, value: value.lower() in name,
    "regex": lambda name, value: re.search(value, name) is not None,
    "or": lambda name, value: any(matches(clause, name) for clause in value),
    "and": lambda name, value: all(matches(clause, name) for clause in value),
}
