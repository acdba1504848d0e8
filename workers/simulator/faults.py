"""Everything the simulated provider can do wrong, by name."""

import asyncio
import json
import zlib
from collections.abc import Awaitable, Callable, Iterator
from functools import lru_cache
from http import HTTPStatus
from itertools import repeat
from math import nan

from workers.simulator.limits import retry_headers
from workers.simulator.protocols.exchange import Exchange, FaultOrder
from workers.simulator.protocols.wire import Wire, encode_chunk
from workers.simulator.records import Headers, Refusal, Reply

Fault = Callable[[Exchange, FaultOrder, Wire], Awaitable[None]]
BLOCK_BYTES = 64 * 1024
NESTED_BRACKETS = 100_000  # deep enough to exhaust the stack of a recursive parser
RESET_DELAY_SECONDS = 0.02  # lets the first half arrive before the reset discards it
TEXT_PLACE = "@text@"


async def answer_normally(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    wire.write(exchange.reply)


async def answer_status(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    message = order.message or f"The simulated provider was told to answer {order.status}."
    kind = "server_error" if order.status >= 500 else "invalid_request_error"
    code = "rate_limit_exceeded" if order.status == 429 else None
    headers: Headers = ()
    if order.retry_after is not None:
        headers = retry_headers(order.retry_after)
    refusal = Refusal(order.status, message, kind=kind, code=code, headers=headers)
    wire.write(exchange.refused(refusal))


async def refuse_key(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    """401 that repeats the key it was sent, as some providers and proxies do."""
    message = f"Incorrect API key provided: {exchange.request.authorization}."
    wire.write(exchange.refused(Refusal(401, message, code="invalid_api_key")))


async def answer_text(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    wire.write(exchange.saying(order.answer))


async def end_at_length(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    """The first half of the answer, as if it had met a limit on its length."""
    texts = exchange.answer.texts if exchange.answer else ()
    halves = tuple(text[: len(text) // 2] for text in texts)
    wire.write(exchange.ending(halves, is_cut=True))


async def end_filtered(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    wire.write(exchange.ending(("",), "content_filter"))


async def end_refusing(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    wire.write(exchange.ending(("I cannot help with that.",), "refusal"))


async def end_calling_tool(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    wire.write(exchange.ending(("",), "tool_calls"))


async def end_without_text(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    wire.write(exchange.ending(("",)))


async def hang(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    await wire.wait_until_client_leaves()


async def drip(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    pause = order.pause_seconds or exchange.settings.drip_seconds
    body = _whole_body(exchange.reply)
    await wire.send_head(200, exchange.reply.content_type, length=len(body))
    for place in range(len(body)):
        await asyncio.sleep(pause)
        await wire.send(body[place : place + 1])


async def answer_malformed(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    body = _whole_body(exchange.reply)
    wire.write(exchange.reply._replace(body=body[: len(body) * 2 // 3], pieces=()))


async def answer_html(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    """A gateway's page; with the status 200 that of a portal in between."""
    status = order.status if order.status == HTTPStatus.OK else HTTPStatus.BAD_GATEWAY
    page = b"<html><head><title>502 Bad Gateway</title></head><body>Bad Gateway</body></html>"
    wire.write(Reply(status, page, content_type="text/html"))


async def answer_empty(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    wire.write(Reply(200, b""))


async def answer_wrong_schema(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    wire.write(Reply(200, json.dumps({"result": {"items": [1, 2, 3]}, "ok": True}).encode()))


async def answer_deep_json(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    wire.write(Reply(200, b"[" * NESTED_BRACKETS + b"]" * NESTED_BRACKETS))


async def answer_huge(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    """A right answer, but for its size; made block by block, never held in memory."""
    size = order.size_bytes or exchange.settings.huge_bytes
    before, after = _around_text(exchange)
    await wire.send_head(200, "application/json", length=len(before) + size + len(after))
    await wire.send(before)
    for block in _filler(size):
        await wire.send(block)
    await wire.send(after)


async def answer_endlessly(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    before, _ = _around_text(exchange)
    await wire.send_head(200, "application/json")
    await wire.send(encode_chunk(before))
    block = encode_chunk(b"a" * BLOCK_BYTES)
    while True:
        await wire.send(block)
        await asyncio.sleep(0)  # a client that reads as fast as we write must not hold the loop


async def answer_gzip_bomb(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    """A right answer that is small on the wire and huge once unpacked."""
    size = order.size_bytes or exchange.settings.huge_bytes
    before, after = _around_text(exchange)
    bomb = await asyncio.to_thread(_gzip_bomb, before, after, size)
    wire.write(Reply(200, bomb, headers=(("content-encoding", "gzip"),)))


async def reset_in_mid_body(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    await _send_half(exchange, wire)
    await asyncio.sleep(RESET_DELAY_SECONDS)
    wire.reset()


async def close_in_mid_body(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    await _send_half(exchange, wire)
    wire.close()


async def disconnect(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    """Takes the request and closes the connection without a byte."""
    wire.close()


async def answer_nul(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    wire.write(exchange.saying("The answer is \x0042\x00."))


async def answer_surrogate(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    wire.write(exchange.saying("The answer is \ud83d 42."))


async def answer_nan(exchange: Exchange, order: FaultOrder, wire: Wire) -> None:
    """The text NaN; for embeddings vectors of bare NaN, which is no JSON but what Python writes."""
    ask, answer, route = exchange.ask, exchange.answer, exchange.route
    if ask is None or answer is None or route is None or not ask.dimensions:
        wire.write(exchange.saying("NaN"))
        return
    vectors = tuple([nan] * ask.dimensions for _ in answer.vectors)
    wire.write(route.write(ask, answer._replace(vectors=vectors)))


FAULTS: dict[str, Fault] = {
    "pass": answer_normally,  # for scripts: let some requests through before a fault
    "status": answer_status,
    "error": answer_status,
    "key": refuse_key,
    "answer": answer_text,
    "length": end_at_length,
    "content_filter": end_filtered,
    "refusal": end_refusing,
    "tool_calls": end_calling_tool,
    "no_text": end_without_text,
    "hang": hang,
    "drip": drip,
    "malformed": answer_malformed,
    "html": answer_html,
    "empty": answer_empty,
    "wrong_schema": answer_wrong_schema,
    "deep": answer_deep_json,
    "huge": answer_huge,
    "endless": answer_endlessly,
    "gzip_bomb": answer_gzip_bomb,
    "reset": reset_in_mid_body,
    "cut": close_in_mid_body,
    "disconnect": disconnect,
    "nul": answer_nul,
    "surrogate": answer_surrogate,
    "nan": answer_nan,
}


def _whole_body(reply: Reply) -> bytes:
    return reply.body or b"".join(reply.pieces)


def _around_text(exchange: Exchange) -> tuple[bytes, bytes]:
    """What stands before and after the text of a reply."""
    before, found, after = _whole_body(exchange.saying(TEXT_PLACE)).partition(TEXT_PLACE.encode())
    return (before, after) if found else (b'{"data": "', b'"}')


def _filler(size: int) -> Iterator[bytes]:
    yield from repeat(b"a" * BLOCK_BYTES, size // BLOCK_BYTES)
    yield b"a" * (size % BLOCK_BYTES)


@lru_cache(maxsize=2)
def _gzip_bomb(before: bytes, after: bytes, size: int) -> bytes:
    packer = zlib.compressobj(level=9, wbits=31)
    packed = [packer.compress(before), *map(packer.compress, _filler(size))]
    return b"".join([*packed, packer.compress(after), packer.flush()])


async def _send_half(exchange: Exchange, wire: Wire) -> None:
    body = _whole_body(exchange.reply)
    await wire.send_head(200, exchange.reply.content_type, length=len(body))
    await wire.send(body[: len(body) // 2])
