"""Every scorer run from YAML with the options that all share; and those that judge what an answer
took."""

import json

import pytest

from tests.engine.http_servers import Server, served
from tests.engine.running import case, quick, run_document
from tests.engine.test_webhook_scorer import route_to
from tests.harness.table import table
from workers.engine.calling.cache import MemoryCache
from workers.engine.calling.prices import Price
from workers.engine.kinds import read_configuration
from workers.engine.records import Case, Facts
from workers.engine.scorers import SCORERS
from workers.engine.spec.checks import check_against
from workers.engine.spec.documents import read_document

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


def test_no_name_is_left_out():
    named = {name for name, *_ in SCORERS_IN_YAML}
    assert named == set(SCORERS.ours) - {"code", "tool_call"}, "these two have tests of their own"


@table(*SCORERS_IN_YAML)
async def test_it_judges_from_yaml(simulator, name, options, answer, expected):
    value = await judged_in_a_run(simulator, name, options, answer, expected)
    shared = ", ".join(filter(None, [options, "weight: 2, threshold: 0.5, not: true, as: mine"]))
    turned = await judged_in_a_run(simulator, name, shared, answer, expected)
    assert value.judgements[0].name == name
    assert turned.judgements[0].name == "mine"
    assert value.value is not None
    assert turned.value == pytest.approx(1 - value.value)
    assert turned.passed == (value.value < 0.5)
    if name not in ("bleu", "rubric", "closed_question", "factuality", "pairwise", "similarity"):
        assert (value.value, value.passed) == (1.0, True), value.judgements[0].reason


async def judged_in_a_run(simulator, name, options, answer, expected):
    rule = {"match": {"model": "sim-small"}, "do": "answer", "answer": answer, "times": 1}
    simulator.play(rule)
    said = json.dumps({"value": 1.0, "reason": "so it is"}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(said)}\r\n\r\n".encode()
    async with served(Server([head + said])) as url:
        scorer = f"{name}: {{{options}}}" if options else name
        text = DOCUMENT.format(expected=expected, scorer=scorer.replace("{url}", url))
        case = Case(0, FIELDS, expected)
        route = route_to(url)
        (score,) = await run_document(
            read_document(text), [case], simulator.url, prices=PRICES, webhooks=route
        )
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


async def test_without_a_price_only_the_time_counts_and_alone_it_is_an_error(
    simulator, timed, cases
):
    both = await run_document(timed, cases[:2], simulator.url)
    assert [(score.value, score.judgements[1].value) for score in both] == [(1.0, None)] * 2
    alone = {**timed, "scorers": [{"cost": {"dollars": 1}}]}
    for score in await run_document(alone, cases[:2], simulator.url):
        assert (score.value, score.error, score.message) == (None, "not_scored", f"cost: {UNKNOWN}")
        assert score.unjudged is not None  # a retry judges the answer that is there


def test_a_scorer_that_compares_with_nothing_needs_no_expected_column(timed):
    texts = {"contains": {"texts": ["five"]}}
    configuration = read_configuration(
        {**timed, "expected": "", "scorers": [*timed["scorers"], texts]}
    )
    check_against(configuration, endpoints={"simulated": ()}, columns=["question"], cases=1)
