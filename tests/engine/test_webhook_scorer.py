"""A service of somebody's own judges answers, over real HTTP and behind the guard of addresses;
every scorer run from YAML with the options that all share; and those that judge what an answer
took."""

import json
from contextlib import asynccontextmanager
from socket import AF_INET, SOCK_STREAM
from typing import Any

import pytest
from yarl import URL

from tests.engine.running import FakeClock, case, quick, run_document
from tests.engine.test_http import HANG_UP, Server, served
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import table
from workers.engine.calling.cache import MemoryCache
from workers.engine.calling.prices import Price
from workers.engine.errors import ForbiddenAddress
from workers.engine.kinds import read_configuration
from workers.engine.outside import ATTEMPTS, LARGEST_REPLY, Outside
from workers.engine.providers.addresses import AddressPolicy
from workers.engine.providers.routes import Route
from workers.engine.records import Case, Facts, Judgement
from workers.engine.scorers import SCORERS, build_scorer
from workers.engine.spec.checks import check_against
from workers.engine.spec.documents import read_document

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
        scorer: Any = build_scorer("webhook", {"url": url, **options})
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


async def test_a_second_try_may_succeed_and_silence_is_not_waited_for():
    server = Server(reply(b"", "503 Busy"), reply({"value": 1}))
    assert (await judged(server)).value == 1.0
    silent: list[Any] = [b"HTTP/1.1 200 OK\r\n"]
    with pytest.raises(Exception, match=r"gave no answer within 0.05 s\."):
        await judged(Server(*[silent] * ATTEMPTS), seconds=0.05)


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


async def test_a_run_is_judged_by_it_and_has_no_zero_where_it_may_not_call(simulator, plain, cases):
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


ANSWER = "Answer: 42"
FIELDS = {"question": "What is 17 + 25?", "expected": ANSWER, "number": "42", "letter": "A"}
PRICES = {("simulated", "sim-small"): Price(1.0, 1.0)}
DOCUMENT = """
kind: evaluate
dataset: {{rows: [{{question: "What is 17 + 25?", expected: "Answer: 42"}}]}}
prompts: [{{name: plain, user: "{{{{question}}}}"}}]
models: [simulated/sim-small]
expected: {expected}
scorers:
  - {scorer}
"""
JUDGE = "judge: simulated/sim-large"
# As a person writes it under `scorers`: name, options; what the simulated model is made to answer;
# the column with the expected text.
SCORERS_IN_YAML = [
    ("exact", "", ANSWER, "expected"),
    ("contains", "", f"{ANSWER}.", "number"),
    ("contains", "texts: [42, 43], match: any", ANSWER, "expected"),
    ("contains", "texts: [Answer, 42], match: all", ANSWER, "expected"),
    ("starts_with", "", f"{ANSWER}, of course", "expected"),
    ("regex", r"pattern: 'Answer: (\d+)'", ANSWER, "number"),
    ("numeric", "tolerance: 0.001", ANSWER, "number"),
    ("json", "", '{"sum": 42}', "expected"),
    ("json", "json_schema: {type: object, required: [sum]}", '{"sum": 42}', "expected"),
    ("json_schema", "schema: {type: object, required: [sum]}", '{"sum": 42}', "expected"),
    ("json_schema", """schema: '{"type": "object"}'""", "```json\n{}\n```", "expected"),
    ("choice", "letters: ABCD", "Answer: A", "letter"),
    ("edit_distance", "", ANSWER, "expected"),
    ("token_f1", "", ANSWER, "expected"),
    ("rouge_l", "", ANSWER, "expected"),
    ("bleu", "", f"{ANSWER} it is", "expected"),
    ("similarity", "model: simulated/sim-embed", ANSWER, "expected"),
    ("latency", "milliseconds: 60000", ANSWER, "expected"),
    ("cost", "dollars: 1", ANSWER, "expected"),
    ("webhook", "url: '{url}'", ANSWER, "expected"),
    ("rubric", f"{JUDGE}, rubric: The number is right.", ANSWER, "expected"),
    ("factuality", JUDGE, ANSWER, "expected"),
    ("closed_question", f"{JUDGE}, question: Is it a number?", ANSWER, "expected"),
    ("pairwise", JUDGE, ANSWER, "expected"),
    *(
        (name, f"judges: [simulated/sim-large, simulated/sim-medium]{more}", ANSWER, "expected")
        for name, more in (
            ("rubric", ", rubric: The number is right."),
            ("factuality", ""),
            ("closed_question", ", question: Is it a number?"),
            ("pairwise", ""),
        )
    ),
]


def test_every_scorer_is_run_from_yaml_but_two_that_have_tests_of_their_own():
    assert {name for name, *_ in SCORERS_IN_YAML} == set(SCORERS.ours) - {"code", "tool_call"}


@table(*SCORERS_IN_YAML)
async def test_it_judges_from_yaml(simulator, name, options, answer, expected):
    value = await judged_in_a_run(simulator, name, options, answer, expected)
    shared = ", ".join(filter(None, [options, "weight: 2, threshold: 0.5, not: true, as: mine"]))
    turned = await judged_in_a_run(simulator, name, shared, answer, expected)
    assert (value.judgements[0].name, turned.judgements[0].name) == (name, "mine")
    assert value.value is not None
    assert turned.value == pytest.approx(1 - value.value)
    assert turned.passed == (value.value < 0.5)
    if name not in ("bleu", "rubric", "closed_question", "factuality", "pairwise", "similarity"):
        assert (value.value, value.passed) == (1.0, True), value.judgements[0].reason


async def judged_in_a_run(simulator, name, options, answer, expected):
    rule = {"match": {"model": "sim-small"}, "do": "answer", "answer": answer, "times": 1}
    simulator.play(rule)
    async with served(Server(reply({"value": 1.0, "reason": "so it is"}))) as url:
        scorer = f"{name}: {{{options}}}" if options else name
        text = DOCUMENT.format(expected=expected, scorer=scorer.replace("{url}", url))
        more = {"prices": PRICES, "webhooks": route_to(url)}
        cases = [Case(0, FIELDS, expected)]
        (score,) = await run_document(read_document(text), cases, simulator.url, **more)
    assert not score.error, score.message
    return score


UNKNOWN = "the price of a model, or its count of tokens, is unknown"


@table(
    ("latency", {"milliseconds": 1000}, Facts(1000.0), 1.0, "took 1,000 ms, 1,000 ms are"),
    ("latency", {"milliseconds": 999.5}, Facts(1000.0), 0.0, "took 1,000 ms, 999.5 ms are"),
    ("latency", {"milliseconds": 1}, Facts(), None, "how long the answer took is unknown"),
    ("cost", {"dollars": 0.002}, Facts(1.0, 0.002), 1.0, "costs $0.002, $0.002 is allowed"),
    ("cost", {"dollars": 0.002}, Facts(1.0, 0.0021), 0.0, "costs $0.0021, $0.002 is allowed"),
    ("cost", {"dollars": 0.002}, Facts(1.0, 0.0), 1.0, "costs $0, $0.002 is allowed"),
    ("cost", {"dollars": 5}, Facts(1.0, 0.0000021), 1.0, "costs $0.0000021, $5 is allowed"),
    ("cost", {"dollars": 0.002}, Facts(1.0, None), None, UNKNOWN),
)
def test_what_an_answer_took_is_judged(name, options, facts, value, reason):
    said = quick(name, options).judge_facts("5", case(), facts)
    passed = None if value is None else value == 1
    assert (said.name, said.value, said.passed) == (name, value, passed)
    assert said.reason.startswith(reason)


@pytest.fixture
def timed(plain):
    return {**plain, "scorers": [{"latency": {"milliseconds": 60_000}}, {"cost": {"dollars": 1}}]}


async def test_a_cached_answer_is_judged_by_what_it_took_when_it_was_asked(simulator, timed, cases):
    cache = MemoryCache()
    first = await run_document(timed, cases[:3], simulator.url, cache, PRICES)
    again = await run_document(timed, cases[:3], simulator.url, cache, PRICES)
    assert [score.value for score in first] == [1.0] * 3
    assert all(score.cached for score in again)
    assert [score.judgements for score in again] == [score.judgements for score in first]
    assert all("costs $0.0" in score.judgements[1].reason for score in again)


async def test_without_a_price_only_the_time_counts_and_alone_is_an_error(simulator, timed, cases):
    both = await run_document(timed, cases[:2], simulator.url)
    assert [(score.value, score.judgements[1].value) for score in both] == [(1.0, None)] * 2
    alone = {**timed, "scorers": [{"cost": {"dollars": 1}}]}
    for score in await run_document(alone, cases[:2], simulator.url):
        assert (score.value, score.error, score.message) == (None, "not_scored", f"cost: {UNKNOWN}")
        assert score.unjudged is not None  # a retry judges the answer that is there


def test_a_scorer_that_compares_with_nothing_needs_no_expected_column(timed):
    texts = {"contains": {"texts": ["five"]}}
    document = {**timed, "expected": "", "scorers": [*timed["scorers"], texts]}
    configuration = read_configuration(document)
    check_against(configuration, endpoints={"simulated": ()}, columns=["question"], cases=1)
