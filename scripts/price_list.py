"""Writes the list of prices that endpoints are filled in with, from the package genai-prices.

The package itself takes 85 MB of memory and its own HTTP client; the site needs a hundredth of it.
Of a price that depends on the length of the prompt, the one of short prompts is taken; one that
depends on the hour is left out, as is a model that is paid by anything but its tokens.
"""

import json
import sys
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))

from workers.engine.price_list import PRICES_FILE  # noqa: E402
from workers.engine.providers.known import KNOWN_PROVIDERS  # noqa: E402

PAID_OTHERWISE = ("requests_kcount", "input_audio_mtok", "output_audio_mtok")


def make_list(today: date) -> dict[str, Any]:
    from genai_prices.data import providers

    wanted = {known.price_list for known in KNOWN_PROVIDERS.values() if known.price_list}
    rows = {one.id: rows_of(one) for one in providers if one.id in wanted}
    return {
        "source": f"genai-prices {version('genai-prices')} (MIT), github.com/pydantic/genai-prices",
        "date": today.isoformat(),
        "providers": {name: rows[name] for name in sorted(rows)},
    }


def rows_of(provider: Any) -> list[list[Any]]:
    """[how a name is recognised, input, output] of each model, in the order to try them."""
    found = []
    for model in provider.models:
        price = price_of(model)
        found.append([clause_of(model.match), *(price or (None, None))])
    return found


def price_of(model: Any) -> tuple[float, float] | None:
    if any(type(one.constraint).__name__ == "TimeOfDateConstraint" for one in conditions_of(model)):
        return None
    prices = model.get_prices(datetime.now(UTC))
    if any(getattr(prices, name, None) is not None for name in PAID_OTHERWISE):
        return None
    given, back = base_of(prices, "input_mtok"), base_of(prices, "output_mtok")
    if back is None and "embed" in model.id:
        back = 0.0  # a vector is no text
    return None if given is None or back is None else (given, back)


def conditions_of(model: Any) -> list[Any]:
    return model.prices if isinstance(model.prices, list) else []


def base_of(prices: Any, name: str) -> float | None:
    found = getattr(prices, name, None)
    found = getattr(found, "base", found)
    return None if found is None else float(found)


def clause_of(match: Any) -> Any:
    """As {"equals": "gpt-4o"}, {"or": [...]}, {"and": [...]}."""
    if not is_dataclass(match):
        raise TypeError(f"An unknown way to recognise a model: {match!r}.")
    [field] = fields(match)
    value = getattr(match, field.name)
    if isinstance(value, list):
        value = [clause_of(one) for one in value]
    return {field.name.rstrip("_"): value}


def written(document: dict[str, Any]) -> str:
    """A model a line, so that a change shows what changed."""
    head = {name: value for name, value in document.items() if name != "providers"}
    lines = [json.dumps(head)[:-1] + ', "providers": {']
    for number, (name, rows) in enumerate(document["providers"].items()):
        lines.append(f'{"," if number else ""}"{name}": [')
        lines += [json.dumps(row) + ("," if row is not rows[-1] else "") for row in rows]
        lines.append("]")
    return "\n".join([*lines, "}}", ""])


def main() -> None:
    """The date changes only with the prices."""
    fresh = make_list(datetime.now(UTC).date())
    stored = json.loads(PRICES_FILE.read_text()) if PRICES_FILE.exists() else {}
    if stored.get("providers") == fresh["providers"]:
        fresh["date"] = stored["date"]
    PRICES_FILE.write_text(written(fresh))
    print(f"{sum(map(len, fresh['providers'].values()))} prices of {fresh['date']}.")


if __name__ == "__main__":
    main()
