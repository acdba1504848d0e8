"""Fills in prices from the list that is kept with the site. A person's own price always wins.

`listed_prices` of an endpoint remembers what was filled in and when the list was made: a price that
still says so is brought up to date, and one that a person changed is theirs. One that a person took
away stays away: it is remembered as null.
"""

from typing import Any

from runs.models import Endpoint
from workers.engine.price_list import kept_list, listed_price

Filled = dict[str, Any]  # input, output and the day of the list; None: taken away by a person


def fill_prices(endpoint: Endpoint, before: Endpoint | None) -> None:
    """For the models that it offers; what the list does not know stays unknown."""
    remembered = before.listed_prices if before else {}
    kept = {name: note for name, note in remembered.items() if name in endpoint.model_names}
    notes = {name: note_of(endpoint, name, note) for name, note in kept.items()}
    endpoint.listed_prices = {name: note for name, note in notes.items() if note != "own"}
    prices = dict(endpoint.prices)
    for name in endpoint.model_names:
        is_own = name in prices and not endpoint.listed_prices.get(name)
        if is_own or endpoint.listed_prices.get(name, "") is None:
            continue
        if filled := from_the_list(endpoint, name):
            endpoint.listed_prices[name] = filled
            prices[name] = {"input": filled["input"], "output": filled["output"]}
    endpoint.prices = prices


def note_of(endpoint: Endpoint, name: str, note: Filled | None) -> Any:
    """What is remembered from now on. "own": the person's price, which the list has no say in."""
    price = endpoint.prices.get(name)
    if price is None:
        return None
    is_as_filled = note and all(price.get(part) == note[part] for part in ("input", "output"))
    return note if is_as_filled else "own"


def from_the_list(endpoint: Endpoint, model: str) -> Filled | None:
    found = listed_price(endpoint.base_url, model)
    if found is None:
        return None
    return {"input": found.input, "output": found.output, "date": kept_list().day.isoformat()}
