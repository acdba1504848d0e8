"""A service of somebody's own judges answers, over real HTTP and behind the guard of addresses."""

import json
from contextlib import asynccontextmanager
from socket import AF_INET, SOCK_STREAM
from typing import Any

import pytest
from yarl import URL

from tests.engine.http_servers import HANG_UP, Server, served
from tests.engine.running import FakeClock, built, run_document
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import table
from workers.engine.errors import ForbiddenAddress
from workers.engine.outside import ATTEMPTS, LARGEST_REPLY, Outside
from workers.engine.providers.addresses import AddressPolicy
from workers.engine.providers.routes import Route
from workers.engine.records import Case, Judgement
from workers.engine.scorers import build_scorer

CASE = Case(0, {"question": "1 + 1?", "expected": "2"})


def route_to(url):
    return Route(AddressPolicy(frozenset({f"127.0.0.1:{URL(url).port}"})))


def reply(body, status="200 OK"):
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    return [f"HTTP/1.1 {status}\r\nContent-Length: {len(sent)}\r\n\r\n".encode() + sent]


@asynccontextmanager
async def closing(outside):
    try:
        yield outside
    finally:
        await outside.close()


async def judged(server, answer="2", **options):
    async with served(server) as url, closing(Outside(route_to(url), FakeClock())) as outside:
        scorer = built("webhook", {"url": url, **options})
        return await scorer.judge_by_posting(answer, CASE, outside.post)


async def test_it_is_sent_answer_and_case_and_nothing_that_is_ours():
    server = Server(reply({"value": 1, "reason": "so it is", "label": "good"}))
    said = await judged(server, "2 \ud800")
    assert said == Judgement("webhook", 1.0, True, "so it is", "good")
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert json.loads(body) == {"answer": "2 ?", "expected": "2", "case": dict(CASE.fields)}
    names = [line.partition(b":")[0].lower() for line in head.split(b"\r\n")[1:]]
    assert sorted(names) == [b"accept-encoding", b"content-length", b"content-type", b"host"]


@table(
    ({"value": 0.4}, {}, (0.4, False)),
    ({"value": 0.4}, {"threshold": 0.4}, (0.4, True)),
    ({"value": None, "reason": "nothing to say"}, {}, (None, None)),
)
async def test_its_value_is_right_from_the_threshold(said, options, expected):
    assert (await judged(Server(reply(said)), **options))[1:3] == expected


NOT_AS_ASKED = [b"", b"yes", b"1", b'{"reason": "no value"}', b'{"value": "1"}', b'{"value": true}']
NOT_AS_ASKED += [b'{"value": 1.5}', b'{"value": NaN}', b'{"value": 1, "passed": true}', b"\xff\xfe"]
NOT_AS_ASKED += [b'{"value": 1, "reason": 5}']


@table(*NOT_AS_ASKED)
async def test_what_it_replies_is_read_strictly(body):
    with pytest.raises(Exception, match="Allowed is JSON as in"):
        await judged(Server(reply(body)))


@table(
    (reply(b"", "500 Oops"), ATTEMPTS, "answered 500"),
    (reply(b"", "429 Slow"), ATTEMPTS, "answered 429"),
    ([HANG_UP], ATTEMPTS, "closed the connection"),
    (reply(b"", "404 Not Found"), 1, "answered 404"),
    (reply(b"", "302 Found\r\nLocation: http://127.0.0.1:1/"), 1, "Redirections are not"),
    (reply(b" " * (LARGEST_REPLY + 1)), 1, "65,537 bytes. Allowed: 65,536"),
)
async def test_what_may_go_away_is_tried_again_and_nothing_else(script, tries, told):
    server = Server(*[script] * ATTEMPTS)
    with pytest.raises(Exception, match=told) as error:
        await judged(server)
    assert "?x=1" not in str(error.value)  # of the URL only the place is named
    assert len(server.requests) == tries


async def test_a_second_try_may_succeed():
    server = Server(reply(b"", "503 Busy"), reply({"value": 1}))
    assert (await judged(server)).value == 1.0


async def test_a_service_that_says_nothing_is_not_waited_for():
    silent: list[Any] = [b"HTTP/1.1 200 OK\r\n"]
    server = Server(*[silent] * ATTEMPTS)
    with pytest.raises(Exception, match=r"gave no answer within 0.05 s\."):
        await judged(server, seconds=0.05)


async def look_up_neighbour(host, port):
    return [(AF_INET, SOCK_STREAM, 0, "", ("10.0.0.7", port))]


async def test_neither_a_private_address_nor_a_name_that_leads_to_one_is_reached():
    async with closing(Outside()) as outside:
        for url in ("http://localhost:8000/hook", "http://169.254.169.254/", "http://[::1]:8000/"):
            with pytest.raises(ForbiddenAddress):
                await outside.post(url, b"{}", PATIENCE_SECONDS)
    async with closing(Outside(resolve=look_up_neighbour)) as outside:
        with pytest.raises(ForbiddenAddress, match="is at a private address"):
            await outside.post("https://public.example/", b"{}", PATIENCE_SECONDS)


@table("ftp://a.example/", "a.example", "http://me:key@a.example/")
def test_what_is_no_address_is_refused_at_once(url):
    with pytest.raises(ValueError, match=r"webhook\.url"):
        build_scorer("webhook", {"url": url})


async def test_a_run_is_judged_by_it_and_fails_without_a_zero_where_it_may_not_call(
    simulator, plain, cases
):
    server = Server(*[reply({"value": 0.25})] * 3)
    async with served(server) as url:
        plain["scorers"] = [{"webhook": {"url": url, "not": True}}, {"exact": {"weight": 0}}]
        here, nowhere = ({"webhooks": route_to(one)} for one in (url, "http://127.0.0.1:1"))
        scores = await run_document(plain, cases[:3], simulator.url, **here)
        assert [(score.value, score.passed) for score in scores] == [(0.75, True)] * 3
        assert all(score.judging is None for score in scores)  # no model was asked
        refused = await run_document(plain, cases[:3], simulator.url, **nowhere)
    assert [(score.value, score.error) for score in refused] == [(None, "scorer_error")] * 3
    assert "is at a private address" in refused[0].message
    assert len(server.requests) == 3
    assert all(score.unjudged is not None for score in refused)
