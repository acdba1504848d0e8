"""One HTTP exchange: no redirects, no proxies, no compression, and an answer of bounded size."""

from collections.abc import Mapping
from typing import NamedTuple

import aiohttp

from workers.engine.errors import AnswerTooLarge, CallError, ConnectionFailed

MAX_ANSWER_BYTES = 4 * 1024 * 1024
IDENTITY = {"Accept-Encoding": "identity"}  # a small compressed body may unpack to gigabytes


class Unreachable(ConnectionFailed):
    """No connection was made, so nothing was sent: another server may be asked at once."""


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


def open_client(resolver: aiohttp.abc.AbstractResolver | None = None) -> aiohttp.ClientSession:
    """One client per process. The throttle, not the pool, decides how many calls fly."""
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=30, resolver=resolver)
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_connect=10),
        auto_decompress=False,
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
    )


async def post(
    client: aiohttp.ClientSession, url: str, body: bytes, headers: Mapping[str, str]
) -> Answer:
    try:
        async with client.post(
            url, data=body, headers={**IDENTITY, **headers}, allow_redirects=False
        ) as response:
            return Answer(response.status, response.headers, await read_capped(response))
    except CallError:
        raise
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise Unreachable(f"{type(error).__name__} while calling the provider.") from None
    except (aiohttp.ClientError, OSError) as error:
        # The text of some errors names the whole URL; the class says enough.
        raise ConnectionFailed(f"{type(error).__name__} while calling the provider.") from None


async def read_capped(response: aiohttp.ClientResponse) -> bytes:
    """The body, unless it is larger than any answer should be."""
    announced = response.content_length
    if announced is not None:  # then no more than that is read
        if announced <= MAX_ANSWER_BYTES:
            return await response.read()
        response.close()
        raise AnswerTooLarge(f"The answer announced {announced:,} bytes.")
    blocks: list[bytes] = []
    size = 0
    async for block in response.content.iter_any():
        size += len(block)
        if size > MAX_ANSWER_BYTES:
            response.close()
            raise AnswerTooLarge(f"The answer was longer than {MAX_ANSWER_BYTES:,} bytes.")
        blocks.append(block)
    return b"".join(blocks)
