"""Every provider over real HTTP: what it sends, reads, and makes of errors."""

from contextlib import asynccontextmanager
from itertools import product

import pytest

from tests.engine.running import KEY, SUFFIX
from tests.engine.test_http import Server, served
from tests.engine.test_webhook_scorer import reply as saying
from tests.harness.table import row, table
from workers.engine.calling.cache import cache_key
from workers.engine.calling.embeddings import EMBEDDINGS_PATH
from workers.engine.calling.prices import Bill, Price, cost_of, read_prices
from workers.engine.errors import AnswerTooLarge, CallError, MalformedAnswer, RateLimited, Refused
from workers.engine.http import Client
from workers.engine.providers import PROVIDERS
from workers.engine.providers import anthropic as anthropic_protocol
from workers.engine.providers import ollama as ollama_protocol
from workers.engine.providers.anthropic import Anthropic
from workers.engine.providers.manner import Manner
from workers.engine.providers.ollama import Ollama
from workers.engine.providers.openai import OpenAI
from workers.engine.providers.retry_after import read_retry_after
from workers.engine.records import Attempt, Reply, Request, ToldLimits

MODELS_OF_OTHERS = [kind for kind in PROVIDERS if kind != "app"]  # that one: test_provider_kinds.py
MESSAGES = [
    {"role": "system", "content": "Answer with the number only."},
    {"role": "user", "content": "What is 17 + 25?"},
]


def ask(**parameters):
    body = {"model": "sim-large", "messages": MESSAGES, **parameters}
    return Request("main", "sim-large", "/chat/completions", body)


@table(*MODELS_OF_OTHERS)
async def test_every_provider_answers_the_same_and_tells_how_long_to_wait(connect, simulator, kind):
    reply = await connect(kind).send(ask(temperature=0, max_tokens=1))  # its answer is one token
    usual = await connect("simulated").send(ask(temperature=0))
    assert (reply.text, reply.truncated) == (usual.text, False)
    assert (reply.tokens_in, reply.tokens_out) == (usual.tokens_in, usual.tokens_out) == (19, 1)
    rivers = [{"role": "user", "content": "Rivers?"}]
    for name in ("max_tokens", "max_completion_tokens"):
        reply = await connect(kind).send(ask(messages=rivers, **{name: 2}))
        assert (reply.tokens_out, reply.truncated) == (2, True)
    simulator.play({"match": {}, "times": 1, "do": "status", "status": 429, "retry_after": 2.5})
    with pytest.raises(RateLimited) as failed:
        await connect(kind).send(ask())
    assert failed.value.retry_after_seconds == 2.5


# Ollama has no word for a filter or a refusal: an empty text has no text, and the other is one.
FILTERED = {"content_filter": "filtered", "refusal": "filtered"}
FLAWS_OF = {"length": "truncated", "tool_calls": "no_text", "no_text": "no_text", **FILTERED}
FLAWS_OF_OLLAMA = FLAWS_OF | {"content_filter": "no_text", "refusal": ""}


@table(*product(MODELS_OF_OTHERS, FLAWS_OF))
async def test_every_provider_tells_an_answer_that_is_not_whole(connect, simulator, kind, ending):
    simulator.play({"do": ending})
    reply = await connect(kind).send(ask())
    assert reply.flaw == (FLAWS_OF_OLLAMA if kind == "ollama" else FLAWS_OF)[ending]
    assert bool(reply.text) == (ending in ("length", "refusal"))


STATUSES = {401: "credentials", 429: "rate_limited", **dict.fromkeys((400, 404), "refused")}
STATUSES |= dict.fromkeys((408, 500, 529), "server_error")
FAULTS = [
    *(({"do": "status", "status": status}, error) for status, error in STATUSES.items()),
    ({"do": "malformed"}, "malformed_answer"),  # not JSON
    ({"do": "empty"}, "malformed_answer"),
    ({"do": "wrong_schema"}, "malformed_answer"),  # other JSON
    ({"do": "html"}, "server_error"),  # an HTML error page
    ({"do": "huge"}, "too_large"),
    ({"do": "reset"}, "connection"),
]


@table(*((kind, *fault) for kind, fault in product(MODELS_OF_OTHERS, FAULTS)))
async def test_every_provider_calls_errors_by_equal_names(connect, simulator, kind, fault, error):
    simulator.play({"match": {}, "times": 1, **fault})
    with pytest.raises(CallError) as failed:
        await connect(kind).send(ask())
    assert failed.value.name == error
    assert KEY not in str(failed.value)


@table("soon", "Mon, 01 Jan 99999999999 00:00:00 GMT", "Mon, 01 Jan 2026 00:00:00 +999999999")
def test_a_wait_that_cannot_be_read_is_none(text):
    assert read_retry_after({"retry-after": text}) is None


@table("openai", "anthropic")
async def test_the_limits_a_provider_tells_are_read(connect, simulator, kind):
    assert (await connect(kind).send(ask())).told is None
    simulator.change(rpm=600, tpm=90_000)
    told = (await connect(kind).send(ask())).told
    simulator.change(rpm=None, tpm=None)
    assert told == ToldLimits(600, 90_000)


def test_a_request_has_the_form_of_its_provider_and_stays_what_the_cache_key_is_made_of():
    request = ask(temperature=0.5, stop="END", top_k=3)
    before = cache_key("service", request)
    assert anthropic_protocol.body_of(request) == {
        "model": "sim-large",
        "system": "Answer with the number only.",
        "messages": MESSAGES[1:],
        "max_tokens": 1024,
        "temperature": 0.5,
        "stop_sequences": ["END"],
        "top_k": 3,
    }
    assert cache_key("service", request) == before
    told = {"keep_alive": "5m", "options": {"num_ctx": 4096}, "stop": ["END"]}
    told["response_format"] = {"type": "json_object"}
    request = ask(temperature=0.5, max_tokens=9, **told)
    before = cache_key("service", request)
    assert ollama_protocol.body_of(request) == {
        "model": "sim-large",
        "messages": MESSAGES,
        "stream": False,
        "keep_alive": "5m",
        "format": "json",
        "options": {"temperature": 0.5, "num_predict": 9, "stop": ["END"], "num_ctx": 4096},
    }
    assert cache_key("service", request) == before
    asked = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}}
    assert ollama_protocol.body_of(ask(response_format=asked))["format"] == {"type": "object"}


@asynccontextmanager
async def played(answer, status="200 OK"):
    """A server that says this, whatever it is asked."""
    server = Server(*[saying(answer, status)] * 2)
    async with served(server) as url, Client() as client:
        yield client, server, url.partition("/v1/")[0]


@table(
    ("openai", "/v1/chat/completions", {"authorization": f"Bearer {KEY}"}),
    ("anthropic", "/v1/messages", {"x-api-key": KEY, "anthropic-version": "2023-06-01"}),
    ("ollama", "/api/chat", {"authorization": f"Bearer {KEY}"}),
)
async def test_the_key_goes_into_its_header_and_into_no_error(kind, path, headers):
    answer = {"error": {"message": "x" * 280 + f" bad key {KEY} " + KEY}}
    async with played(answer, "401 No") as (client, server, url):
        for key in (KEY, ""):
            with pytest.raises(CallError) as failed:
                await PROVIDERS[kind](client, kind, url + SUFFIX[kind], key).send(ask())
            assert len(str(failed.value)) <= 310
            if key:
                assert "sk-canary" not in str(failed.value)
    sent, sent_without = (request.decode() for request in server.requests)
    first, *lines = sent.partition("\r\n\r\n")[0].split("\r\n")
    named = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    assert first == f"POST {path} HTTP/1.1"
    assert named.items() >= headers.items()
    assert KEY not in sent_without


OF_OPENAI = {"choices": [{"message": {"content": "42"}}]}
OF_OLLAMA = {"message": {"role": "assistant", "content": "42"}, "done": True}
PARTS = [{"type": "thinking", "thinking": "Hm."}, *({"type": "text", "text": one} for one in "42")]
CACHED = {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 2}


@table(
    row("openai", OF_OPENAI, None, None, id="unknown tokens"),
    row("ollama", OF_OLLAMA, None, None, id="unknown tokens of Ollama"),
    row("anthropic", {"content": PARTS}, None, None, id="blocks of text, joined"),
    row("anthropic", {"content": PARTS, "usage": CACHED}, 12, 2, id="from its cache is input"),
)
async def test_texts_and_tokens_are_read(kind, answer, tokens_in, tokens_out):
    async with played(answer) as (client, _, url):
        reply = await PROVIDERS[kind](client, kind, url).send(ask())
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("42", tokens_in, tokens_out)


SLASHED = "sk/canary/0123456789abcdef"


@table(KEY, SLASHED)
async def test_a_key_that_a_good_answer_echoes_is_taken_out(key):
    """However JSON writes it; what is too short to be a secret stays."""
    manner = Manner(headers={"X-Team": "Bearer canary-of-a-header", "X-Region": "eu"})
    escaped = key.replace("/", "\\/")
    text = f"{key}, {escaped}, canary-of-a-header, eu"
    answer = f'{{"choices": [{{"message": {{"content": "{text}"}}}}]}}'.encode()
    async with played(answer) as (client, _, url):
        reply = await PROVIDERS["openai"](client, "openai", url, key, manner=manner).send(ask())
    assert reply.text == "[key], [key], [key], eu"


def texts(*given):
    """As the texts of one request are sent."""
    body = {"model": "sim-embed", "input": list(given)}
    return Request("any", "sim-embed", EMBEDDINGS_PATH, body)


@table(
    row([[1.0]], id="one is missing"),
    row([[1.0], [1.0, 2.0]], id="of different lengths"),
    row([[1.0], ["x"]], id="not a number"),
    row([[1.0], [float("nan")]], id="NaN"),
    row([[1.0], [10**400]], id="more than a float holds"),
    row([[1.0], [1e39]], id="more than is kept of a float"),
    row("text", id="no list"),
)
async def test_embeddings_of_another_shape_are_refused(vectors):
    async with played({"embeddings": vectors}) as (client, _, url):
        with pytest.raises(MalformedAnswer):
            await Ollama(client, "ollama", url).send(texts("a", "b"))


async def test_embeddings_are_cut_at_the_same_size_as_answers_and_some_have_none():
    async with played(b"[" + b"1," * 3_000_000) as (client, _, url):
        with pytest.raises(AnswerTooLarge):
            await OpenAI(client, "openai", url).send(texts("a"))
        with pytest.raises(Refused, match="Anthropic offers no embeddings"):
            await Anthropic(client, "anthropic", "http://127.0.0.1:9/v1").send(texts("a"))


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
