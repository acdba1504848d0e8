"""What answers cost: dollars per million tokens, by endpoint and model.

A price or a count of tokens that nobody knows makes a cost unknown, never nothing.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from workers.engine.errors import AnswerTooLarge, MalformedAnswer
from workers.engine.records import CANCELLED, Attempt, Reply, Request

TOKENS = 1_000_000  # prices are per this many
NANOS = 1_000_000_000  # of a dollar: budgets are kept in whole ones
HIGHEST_PRICE = 100_000.0  # dollars per million tokens; more is a slip of the hand
# An answer arrived or was under way, so it is paid for, but its tokens could not be read.
UNREAD_OUTCOMES = frozenset({MalformedAnswer.name, AnswerTooLarge.name, CANCELLED})


class Price(NamedTuple):
    """Dollars per million tokens."""

    input: float
    output: float


Prices = Mapping[tuple[str, str], Price]
"""By endpoint and model."""


def cost_of(price: Price | None, tokens_in: int | None, tokens_out: int | None) -> float | None:
    """Dollars for these tokens; None if the price or a count is unknown."""
    if price is None or tokens_in is None or tokens_out is None:
        return None
    return (price.input * tokens_in + price.output * tokens_out) / TOKENS


def read_prices(document: Any) -> dict[str, Price]:
    """By model, from `{"model": {"input": 2.5, "output": 10}}`. ValueError says what is wrong."""
    if not isinstance(document, Mapping):
        raise ValueError("Prices are a mapping of model names to input and output prices.")
    return {str(model): _read_price(model, entry) for model, entry in document.items()}


def _read_price(model: object, entry: Any) -> Price:
    if not isinstance(entry, Mapping) or set(entry) != {"input", "output"}:
        raise ValueError(f"The price of {model!r} needs an input and an output, and nothing else.")
    for name, value in entry.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not isfinite(value) or not 0 <= value <= HIGHEST_PRICE:
            raise ValueError(
                f"The {name} price of {model!r} must be a number from 0 to {HIGHEST_PRICE:,.0f}, "
                "in dollars per million tokens."
            )
    return Price(float(entry["input"]), float(entry["output"]))


class Bill:
    """Adds up what the answers of one trial cost."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._unpriced = 0
        self._full = 0.0
        self._is_full_known: bool | None = None  # None: no answer yet
        self.cost: float | None = None  # None: nothing is known of it
        self.saved = 0.0

    @property
    def full(self) -> float | None:
        """As if nothing had been cached, so that candidates compare; None: unknown."""
        return self._full if self._is_full_known else None

    def price_of(self, request: Request, reply: Reply) -> float | None:
        price = self._prices.get((request.endpoint, request.model))
        return cost_of(price, reply.tokens_in, reply.tokens_out)

    def add(self, request: Request, reply: Reply) -> None:
        cost = self.price_of(request, reply)
        self._full += cost or 0.0
        self._is_full_known = self._is_full_known is not False and cost is not None
        if reply.cached:
            self.saved += cost or 0.0
            self.cost = self.cost or 0.0
        elif cost is None:
            self._unpriced += 1
        else:
            self.cost = (self.cost or 0.0) + cost

    def count_unpriced(self, trace: Sequence[Attempt]) -> int:
        """Answers that arrived and whose price is unknown, those that were no use among them."""
        unread = [one for one in trace if one.outcome in UNREAD_OUTCOMES and one.what == "call"]
        return self._unpriced + len(unread)
