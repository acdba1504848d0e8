"""Floods the web server with bodies of people who are not signed in, and shows what it costs.

python scripts/flood_bodies.py                  # 100 clients that send 200 MB each
python scripts/flood_bodies.py --server daphne  # the same against Daphne without our limits
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

BASE_DIR = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BASE_DIR))

from evalsite.embedded.loose_parts import LooseParts  # noqa: E402
from evalsite.embedded.ports import claim_port  # noqa: E402
from tests.harness.processes import memory_mb  # noqa: E402

PIECE = b"x" * 64 * 1024
HEAD = (
    "POST /sign-in/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{length}\r\n"
    "Content-Type: multipart/form-data; boundary=b\r\n\r\n"
)
PART = b'--b\r\nContent-Disposition: form-data; name="username"\r\n\r\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", default="evalsite.web", choices=["evalsite.web", "daphne"])
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--chunked", action="store_true", help="without a Content-Length")
    parser.add_argument("--seconds", type=float, default=60, help="give up after")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as data:
        show(asked, measure(asked, data))


class Found(NamedTuple):
    answers: list[str]
    quiet_mb: float
    peak_mb: float
    quiet_p95_ms: float
    health_p95_ms: float
    seconds: float


def measure(asked: argparse.Namespace, data: str) -> Found:
    port = claim_port("127.0.0.1", 0, "--port")
    env = dict(os.environ, EVALSITE_ORIGINS=f"http://127.0.0.1:{port}")
    argv = [sys.executable, "-m", asked.server, "-b", "127.0.0.1", "-p", str(port), "-v", "0"]
    web = LooseParts(Path(data), env).start("web", [*argv, "evalsite.asgi:application"])
    try:
        wait_until_up(port)
        quiet = [health_ms(port) for _ in range(50)]
        before = memory_mb(web.pid)
        answers, busy, taken = asyncio.run(flood(asked, port))
        peak = memory_mb(web.pid, "VmHWM")
    finally:
        web.kill()
    return Found(answers, before, peak, p95(quiet), p95(busy), taken)


def show(asked: argparse.Namespace, found: Found) -> None:
    counts = {answer: found.answers.count(answer) for answer in sorted(set(found.answers))}
    sent = f"{asked.clients} clients, {asked.megabytes} MB each, {found.seconds:.1f} s"
    print(f"{asked.server}: {sent}")
    print(f"  memory: {found.quiet_mb:.0f} MB before, {found.peak_mb:.0f} MB at most")
    waited = f"{found.quiet_p95_ms:.0f} ms quiet, {found.health_p95_ms:.0f} ms under the flood"
    print(f"  /healthz p95: {waited}")
    print(f"  answers: {counts}")


async def flood(asked: argparse.Namespace, port: int) -> tuple[list[str], list[float], float]:
    start, is_over = time.monotonic(), asyncio.Event()
    watching = asyncio.create_task(watch(port, is_over))
    sent = asked.megabytes * 1024 * 1024
    clients = [send(port, sent, asked.chunked, asked.seconds) for _ in range(asked.clients)]
    answers = await asyncio.gather(*clients)
    taken = time.monotonic() - start
    is_over.set()
    return answers, await watching, taken


async def watch(port: int, is_over: asyncio.Event) -> list[float]:
    times: list[float] = []
    while not is_over.is_set() or len(times) < 20:
        times.append(await asyncio.to_thread(health_ms, port))
    return times


async def send(port: int, size: int, is_chunked: bool, seconds: float) -> str:
    """The status that a client sees, or what became of its connection."""
    try:
        async with asyncio.timeout(seconds):
            return await send_body(port, size, is_chunked)
    except TimeoutError:
        return "no answer"
    except OSError as error:
        return type(error).__name__


async def send_body(port: int, size: int, is_chunked: bool) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    length = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {size}"
    writer.write(HEAD.format(port=port, length=length).encode())
    writer.write(framed(PART, is_chunked))
    writing = asyncio.create_task(write_body(writer, size - len(PART), is_chunked))
    line = (await reader.readline()).decode()
    writing.cancel()  # whoever has an answer stops sending
    await asyncio.gather(writing, return_exceptions=True)
    writer.close()
    return line.split(" ")[1] if line else "closed"


async def write_body(writer: asyncio.StreamWriter, left: int, is_chunked: bool) -> None:
    while left > 0:
        piece = PIECE[:left]
        writer.write(framed(piece, is_chunked))
        await writer.drain()
        left -= len(piece)
    if is_chunked:
        writer.write(b"0\r\n\r\n")


def framed(piece: bytes, is_chunked: bool) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece) if is_chunked else piece


def wait_until_up(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            health_ms(port)
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def health_ms(port: int) -> float:
    start = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/healthz")
    connection.getresponse().read()
    connection.close()
    return (time.monotonic() - start) * 1000


def p95(times: list[float]) -> float:
    return quantiles(times, n=20)[-1]


if __name__ == "__main__":
    main()
