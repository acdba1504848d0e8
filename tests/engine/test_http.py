"""What the HTTP client reads and writes, against servers that keep no rule."""

import pytest

from tests.engine.http_servers import CHUNKED, HANG_UP, OK, Server, Step, served
from workers.engine.errors import AnswerTooLarge, CallError
from workers.engine.http import (
    MAX_ANSWER_BYTES,
    BrokenOff,
    Client,
    ClosedWithoutAnswer,
    NotHttp,
)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param([OK], id="with its length"),
        pytest.param([OK[:30], OK[30:-1], OK[-1:]], id="in pieces"),
        pytest.param(
            [CHUNKED + b"1\r\nh\r\n1\r\ni\r\n0\r\n\r\n"],
            id="chunked",
        ),
        pytest.param([CHUNKED + b"2\r\nhi\r\n0\r\nSum: 1\r\n\r\n"], id="with a trailer"),
        pytest.param([b"HTTP/1.0 200 OK\r\n\r\nh", b"i", HANG_UP], id="until the connection ends"),
        pytest.param([b"HTTP/1.1 100 Continue\r\n\r\n" + OK], id="after an interim answer"),
        pytest.param(
            [b"HTTP/1.1 199 Soon\r\nContent-Length: 4\r\n\r\nsoon" + OK],
            id="after an interim answer with a body",
        ),
    ],
)
async def test_an_answer_is_read_however_it_is_framed(script: list[Step]) -> None:
    async with served(Server(script)) as url, Client() as client:
        answer = await client.post(url, b"{}", {})
    assert (answer.status, answer.body) == (200, b"hi")


def large(head: bytes) -> list[Step]:
    return [b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n", *[b"x" * 65536] * 80]


@pytest.mark.parametrize(
    ("script", "error"),
    [
        pytest.param([HANG_UP], ClosedWithoutAnswer, id="no answer"),
        pytest.param([OK[:20], HANG_UP], ClosedWithoutAnswer, id="half a head"),
        pytest.param([OK[:-1], HANG_UP], BrokenOff, id="half a body"),
        pytest.param([b"SSH-2.0-OpenSSH\r\n\r\n"], NotHttp, id="another protocol"),
        pytest.param(
            [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"],
            NotHttp,
            id="an upgrade nobody asked for",
        ),
        pytest.param(
            [b"HTTP/1.1 200 OK\r\nA: ", *[b"x" * 9999] * 9], AnswerTooLarge, id="a long head"
        ),
        pytest.param(
            [CHUNKED + b"2\r\nhi\r\n0\r\nA: ", *[b"x" * 9999] * 9, b"\r\n\r\n"],
            AnswerTooLarge,
            id="a long trailer",
        ),
        pytest.param(
            [CHUNKED + b"2;a=", *[b"x" * 9999] * 9, b"\r\nhi\r\n0\r\n\r\n"],
            AnswerTooLarge,
            id="a long note at a chunk",
        ),
        pytest.param(large(b"Content-Length: 5000000"), AnswerTooLarge, id="announced as too long"),
        pytest.param(large(b"Connection: close"), AnswerTooLarge, id="too long without a word"),
    ],
)
async def test_what_is_no_answer_has_a_name(script: list[Step], error: type[CallError]) -> None:
    server = Server(script)
    async with served(server) as url, Client() as client:
        with pytest.raises(error):
            await client.post(url, b"{}", {})
        # What was left of it is nobody's answer.
        assert (await client.post(url, b"{}", {})).body == b"hi"
    assert server.connections == 2


async def test_an_answer_of_the_largest_size_is_read() -> None:
    body = b"x" * MAX_ANSWER_BYTES
    script: list[Step] = [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body), body]
    async with served(Server(script)) as url, Client() as client:
        assert (await client.get(url, {})).body == body


async def test_an_answer_of_many_small_chunks_is_read() -> None:
    script: list[Step] = [CHUNKED + b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n"]
    async with served(Server(script)) as url, Client() as client:
        assert (await client.get(url, {})).body == b"x" * 50_000


async def test_a_request_is_written_as_the_server_expects_it() -> None:
    server = Server()
    async with served(server) as url, Client() as client:
        await client.post(url, b'{"a": 1}', {"Authorization": "Bearer key"})
        await client.get(url, {})
    first, *headers = server.requests[0].split(b"\r\n")
    assert first == b"POST /v1/things?x=1 HTTP/1.1"
    assert headers[-1] == b'{"a": 1}'
    host = url.partition("://")[2].partition("/")[0]
    assert {f"Host: {host}".encode(), b"Accept-Encoding: identity"} <= set(headers)
    assert {b"Content-Length: 8", b"Authorization: Bearer key"} <= set(headers)
    assert server.requests[1].startswith(b"GET /v1/things?x=1 HTTP/1.1\r\n")


@pytest.mark.parametrize("value", ["a\r\nX-More: 1", "a\nb", "a\rb"])
async def test_a_header_cannot_bring_another_one_along(value: str) -> None:
    server = Server()
    async with served(server) as url, Client() as client:
        with pytest.raises(ValueError, match="line break"):
            await client.post(url, b"", {"Authorization": value})
    assert not server.requests


async def test_a_redirect_is_an_answer_like_any_other() -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n"
    server = Server([moved])
    async with served(server) as url, Client() as client:
        assert (await client.post(url, b"{}", {})).status == 302
    assert len(server.requests) == 1
