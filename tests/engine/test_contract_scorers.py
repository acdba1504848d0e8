"""Every scorer and critic that other programs name, run from YAML with the options all share."""

import json

import pytest
from yarl import URL

from tests.engine.http_servers import Server, served
from workers.engine.calling.prices import Price
from workers.engine.here import run_here
from workers.engine.http import Client
from workers.engine.kinds import read_configuration
from workers.engine.providers import PROVIDERS
from workers.engine.providers.addresses import AddressPolicy
from workers.engine.providers.routes import Route
from workers.engine.records import Case, Score
from workers.engine.scorers import SCORERS
from workers.engine.spec.documents import read_document
from workers.simulator.testing import SimulatorClient

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


def test_no_name_is_left_out() -> None:
    named = {name for name, *_ in SCORERS_IN_YAML}
    assert named == set(SCORERS.ours) - {"code", "tool_call"}, "these two have tests of their own"


@pytest.mark.parametrize(("name", "options", "answer", "expected"), SCORERS_IN_YAML)
async def test_it_judges_from_yaml(
    simulator: SimulatorClient, name: str, options: str, answer: str, expected: str
) -> None:
    value = await judged(simulator, name, options, answer, expected)
    shared = ", ".join(filter(None, [options, "weight: 2, threshold: 0.5, not: true, as: mine"]))
    turned = await judged(simulator, name, shared, answer, expected)
    assert value.judgements[0].name == name
    assert turned.judgements[0].name == "mine"
    assert value.value is not None
    assert turned.value == pytest.approx(1 - value.value)
    assert turned.passed == (value.value < 0.5)
    if name not in ("bleu", "rubric", "closed_question", "factuality", "pairwise", "similarity"):
        assert (value.value, value.passed) == (1.0, True), value.judgements[0].reason


async def judged(
    simulator: SimulatorClient, name: str, options: str, answer: str, expected: str
) -> Score:
    rule = {"match": {"model": "sim-small"}, "do": "answer", "answer": answer, "times": 1}
    simulator.play(rule)
    said = json.dumps({"value": 1.0, "reason": "so it is"}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(said)}\r\n\r\n".encode()
    async with served(Server([head + said])) as url, Client() as client:
        scorer = f"{name}: {{{options}}}" if options else name
        text = DOCUMENT.format(expected=expected, scorer=scorer.replace("{url}", url))
        provider = PROVIDERS["simulated"](client, "simulated", f"{simulator.url}/v1")
        (score,) = await run_here(
            read_configuration(read_document(text)),
            [Case(0, FIELDS, expected)],
            {"simulated": provider},
            prices=PRICES,
            webhooks=Route(AddressPolicy(frozenset({f"127.0.0.1:{URL(url).port}"}))),
        )
    assert not score.error, score.message
    return score
