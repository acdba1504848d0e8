"""The web server reads a large body only from somebody who may send one, and never past its limit.

The server's own classes, fed by hand with what a client sends, in front of the real site.
"""

import asyncio
from argparse import Namespace

import pytest
from channels.db import database_sync_to_async
from daphne.http_protocol import HTTPFactory
from django.conf import settings
from django.test import Client
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from evalsite.asgi import application
from evalsite.web import requests
from evalsite.web.server import Server
from runs.models import Dataset, Scope
from runs.roles import Role
from runs.services.people.tokens import create_token
from scripts.flood_bodies import measure
from tests.harness.factories import make_person
from tests.harness.table import row, table
from tests.simulator.calls import until

pytestmark = pytest.mark.django_db(transaction=True)

MB = 1024 * 1024
MOST_FLOODS = 3
HOST = settings.ALLOWED_HOSTS[0]


class Wire(StringTransport):
    """One connection of a client: what it sent and what it was answered."""

    is_half_closed = is_aborted = False

    def __init__(self):
        super().__init__()
        self.server = Server(application=application, endpoints=["nowhere"])
        self.server.connections = {}
        self.protocol = HTTPFactory(self.server).buildProtocol(None)
        self.protocol.makeConnection(self)

    def send(self, data):
        self.protocol.dataReceived(data)

    def head(self, path, *headers, method="POST"):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}", *headers, "", ""]
        self.send("\r\n".join(lines).encode())

    async def answer(self, wanted=b"\r\n\r\n"):
        await until(lambda: wanted in self.value())
        return str(self.value().decode())

    async def until_asked(self):
        """Until it is known who sends; nothing more is read before."""
        await until(lambda: self.producerState != "paused")

    @property
    def request(self):
        return self.protocol._channel.requests[-1]

    def loseWriteConnection(self):  # noqa: N802 - Twisted's name
        self.is_half_closed = True

    def abortConnection(self):  # noqa: N802 - Twisted's name
        self.is_aborted = True


@pytest.fixture
async def connect():
    made = []

    def connect_once():
        made.append(Wire())
        return made[-1]

    yield connect_once
    for one in made:
        one.protocol.connectionLost(Failure(ConnectionDone()))
        found = [details.get("application_instance") for details in one.server.connections.values()]
        await asyncio.gather(*filter(None, found), return_exceptions=True)


@pytest.fixture
def wire(connect):
    return connect()


@database_sync_to_async
def cookie(role):
    client = Client()
    client.force_login(make_person(f"a {role}", role=role))
    name = settings.SESSION_COOKIE_NAME
    return f"Cookie: {name}={client.cookies[name].value}"


@database_sync_to_async
def token(role):
    made = create_token(make_person(f"a {role}", role=role), "ci", [Scope.READ, Scope.MANAGE])
    return f"Authorization: Bearer {made.text}"


FORM = "Content-Type: multipart/form-data; boundary=b"
JSON = "Content-Type: application/json"
POLICY = ("Content-Security-Policy: ", "default-src 'none'")
VISITOR = "at most 64 KB are read from somebody who is not signed in"


REFUSED = {
    "/sign-in/": "413",
    "/readyz": "413",
    "/runs/new/": "302",  # to the sign-in page, as with a small body
    "/datasets/import/": "302",
    "/nowhere": "404",
}


@table(row([], id=""), row(["Cookie: evalsite_session=invented"], id="cookie"))
async def test_a_visitor_is_refused_before_a_byte_of_a_large_body_is_read(connect, more):
    answers = {}
    for path in REFUSED:
        wire = connect()
        wire.head(path, FORM, f"Content-Length: {200 * MB}", *more)
        wire.send(b"x" * 50_000)
        answer = await wire.answer()
        assert "Connection: close" in answer
        assert wire.is_half_closed
        answers[path] = answer.split()[1]
    assert answers == REFUSED


@table(
    row("/sign-in/", [FORM], b"</html>", [*POLICY, f"has 60.0 MB; {VISITOR}. Sign in"], id="page"),
    row("/api/v1/runs", [JSON], b"}", [VISITOR, "Type: application/problem+json"], id="API"),
    row("/sign-in/", [FORM, "Expect: 100-continue"], b"\r\n\r\n", [], id="who asks first"),
)
async def test_the_answer_says_what_to_do_and_a_page_carries_its_headers(
    connect, path, headers, end, said
):
    wire = connect()
    wire.head(path, *headers, f"Content-Length: {60 * MB}")
    answer = await wire.answer(end)
    assert answer.startswith("HTTP/1.1 413 ")
    assert [text for text in said if text not in answer] == []


async def test_bytes_are_counted_when_no_length_is_given(wire):
    wire.head("/sign-in/", FORM, "Transfer-Encoding: chunked")
    piece = b"8000\r\n" + b"x" * 0x8000 + b"\r\n"
    for _ in range(3):
        wire.send(piece)
    answer = await wire.answer()
    assert answer.startswith("HTTP/1.1 413 ")
    for _ in range(20):
        wire.send(piece)  # thrown away, and soon not even taken from the network
    assert wire.producerState == "paused"


async def test_who_is_signed_in_may_send_what_the_page_takes(connect):
    cookies = {role: await cookie(role) for role in (Role.RUNNER, Role.VIEWER, Role.ADMIN)}
    wanted = {
        (Role.RUNNER, "/sign-in/", MB // 2): "403",  # read, and refused for CSRF
        (Role.RUNNER, "/runs/new/", 2 * MB): "413",
        (Role.RUNNER, "/datasets/import/", 22 * MB): "413",
        (Role.VIEWER, "/datasets/import/", 2 * MB): "403",  # a viewer imports none
        (Role.ADMIN, "/admin/login/", 2 * MB): "413",
    }
    answers = {}
    for role, path, size in wanted:
        wire = connect()
        wire.head(path, FORM, f"Content-Length: {size}", cookies[role])
        await wire.until_asked()
        for _ in range(size // 65_536 if size < MB else 0):
            wire.send(b"x" * 65_536)
        answers[role, path, size] = (await wire.answer()).split()[1]
    assert answers == wanted


async def test_an_upload_waits_on_disk_and_is_imported(wire):
    rows = b"question,expected\n" + b"%s,2\n" % (b"x" * 10_000) * 120  # more than a page may take
    parts = [
        b'--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nmany\r\n',
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="many.csv"\r\n\r\n',
        rows + b"\r\n--b--\r\n",
    ]
    body = b"".join(parts)
    upload = [FORM, f"Content-Length: {len(body)}", "Expect: 100-continue"]
    wire.head("/api/v1/datasets", *upload, await token(Role.RUNNER))
    assert not wire.value()
    assert await wire.answer() == "HTTP/1.1 100 Continue\r\n\r\n"
    request = wire.request
    for start in range(0, len(body), 65_536):
        wire.send(body[start : start + 65_536])
    assert request.body.fileno()  # a file, not memory
    assert "HTTP/1.1 201 " in await wire.answer(b'"rows":120')
    assert await database_sync_to_async(Dataset.objects.get)(name="many")


async def test_a_body_that_drips_is_given_up(wire, monkeypatch):
    monkeypatch.setattr(requests, "BODY_SECONDS", 0.05)
    wire.head("/sign-in/", FORM, "Content-Length: 60000")
    wire.send(b"x")
    assert (await wire.answer()).startswith("HTTP/1.1 408 ")
    assert wire.disconnecting


@pytest.mark.alone
@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "without"])
def test_a_flood_of_anonymous_bodies_is_refused_and_nobody_else_waits(tmp_path, chunked):
    asked = Namespace(
        server="evalsite.web", clients=100, megabytes=200, chunked=chunked, seconds=60
    )
    # A flood lasts a second or two: of several, one is not disturbed by the rest of the machine.
    for _ in range(MOST_FLOODS):
        found = measure(asked, str(tmp_path))
        assert set(found.answers) == {"413"}
        assert found.peak_mb <= 300
        if found.health_p95_ms <= max(200, 10 * found.quiet_p95_ms):
            return
    raise AssertionError(f"Others wait, in each of {MOST_FLOODS} floods; in the last: {found}")
