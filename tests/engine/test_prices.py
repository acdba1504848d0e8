"""Costs follow from tokens and prices; what nobody knows is unknown, never nothing."""

import pytest

from tests.harness.table import row, table
from workers.engine.calling.prices import Bill, Price, cost_of, read_prices
from workers.engine.records import Attempt, Reply, Request

PRICE = Price(input=2.5, output=10.0)
REQUEST = Request("main", "large", "/chat/completions", {})


@table(
    row(PRICE, 1_000_000, 0, 2.5, id="input"),
    row(PRICE, 0, 1_000_000, 10.0, id="output"),
    row(PRICE, 120, 30, 0.0006, id="both"),
    row(Price(0.0, 0.0), 120, 30, 0.0, id="free is known"),
    row(None, 120, 30, None, id="no price"),
    row(PRICE, None, 30, None, id="input not told"),
    row(PRICE, 120, None, None, id="output not told"),
)
def test_a_cost_follows_from_price_and_tokens(price, tokens_in, tokens_out, cost):
    assert cost_of(price, tokens_in, tokens_out) == cost


def reply(tokens, *, cached=False):
    return Reply("4", 1.0, tokens, tokens, cached)


@table(
    row([], ["timeout"], None, 0.0, 0, id="no answer arrived"),
    row([], ["server_error", "refused"], None, 0.0, 0, id="refusals are free"),
    row([], ["malformed_answer"], None, 0.0, 1, id="an answer that was no use"),
    row([reply(1000)], ["ok"], 0.0125, 0.0, 0, id="paid"),
    row([reply(1000), reply(1000)], ["ok", "ok"], 0.025, 0.0, 0, id="two calls"),
    row([reply(None)], ["ok"], None, 0.0, 1, id="tokens not told"),
    row([reply(1000, cached=True)], [], 0.0, 0.0125, 0, id="from the cache"),
    row([reply(None, cached=True)], [], 0.0, 0.0, 0, id="saved, nobody knows what"),
    row([reply(1000)], ["malformed_answer", "ok"], 0.0125, 0.0, 1, id="paid after one no use"),
)
def test_a_bill_tells_known_from_unknown(replies, outcomes, cost, saved, unpriced):
    bill = Bill({("main", "large"): PRICE})
    for item in replies:
        bill.add(REQUEST, item)
    trace = [Attempt("call", outcome, 0.0, 1.0) for outcome in outcomes]
    assert (bill.cost, bill.saved, bill.count_unpriced(trace)) == (cost, saved, unpriced)


def test_prices_are_of_a_model_of_an_endpoint():
    bill = Bill({("other", "large"): PRICE})
    bill.add(REQUEST, reply(1000))
    assert (bill.cost, bill.count_unpriced([])) == (None, 1)
    assert read_prices({"large": {"input": 2.5, "output": 10}}) == {"large": PRICE}


@table(
    ([], "mapping of model names"),
    ({"m": 3}, "needs an input and an output"),
    ({"m": {"input": 1}}, "needs an input and an output"),
    ({"m": {"input": 1, "output": 1, "image": 1}}, "nothing else"),
    ({"m": {"input": -1, "output": 1}}, "input price of 'm' must be a number from 0"),
    ({"m": {"input": 1, "output": float("nan")}}, "output price of 'm'"),
    ({"m": {"input": 1, "output": 1e9}}, "to 100,000"),
    ({"m": {"input": True, "output": 1}}, "input price of 'm'"),
    ({"m": {"input": "1", "output": 1}}, "input price of 'm'"),
)
def test_what_is_no_price_is_refused_with_the_reason(document, message):
    with pytest.raises(ValueError, match=message):
        read_prices(document)
