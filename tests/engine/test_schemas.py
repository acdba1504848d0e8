"""JSON Schemas that people write: whatever they hold, nothing is held up by them."""

import json
import time

import pytest

from tests.engine.running import case, quick
from tests.harness.table import row, table
from workers.engine.errors import ScorerFailed
from workers.engine.judgements import judge_apart, judge_if_quick
from workers.engine.lanes import ProcessLane
from workers.engine.records import Facts
from workers.engine.scorers import build_scorer
from workers.engine.scorers.schemas import MOST_PATTERNS, compiled, is_plain, problem_with_schema
from workers.engine.spec.tools import Tool


def doubling(levels, **more):
    """Every definition names the next one twice."""
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**twice, f"d{levels}": {"properties": {}}}, "$ref": "#/$defs/d0", **more}


def patterns(count, pattern):
    return {"properties": {f"p{n}": {"pattern": f"{pattern}{n}"} for n in range(count)}}


def nested(levels):
    return '{"not":' * levels + "{}" + "}" * levels


TREE = {
    "type": "object",
    "required": ["value"],
    "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}},
}
HOLDS_ITSELF = {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}
DOUBLES_WITH_DEPTH = {"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}
CHECKS = "more than 20,000 checks of one value"
DEEP = "nested, or refers on, more than 200 times"
LARGE_PATTERN = "no regular expression without look-around"

REFUSED = [
    row(doubling(16), CHECKS, id="27 levels held the web up for 9 s, 45 all workers for good"),
    row(doubling(45), CHECKS, id="doubling 45 times"),
    row(doubling(18, unevaluatedProperties=False), CHECKS, id="compiling alone took 2 s"),
    row({"$defs": doubling(30)["$defs"], "items": {"$ref": "#/$defs/d1"}}, CHECKS, id="items"),
    row({"properties": {"a": doubling(30)}}, "it has no '#/$defs/d0'", id="elsewhere"),
    row(patterns(150, r"\p{L}{100}"), "has 150 patterns. Allowed: 100", id="a gigabyte"),
    row(patterns(90, r"\p{L}{100}"), LARGE_PATTERN, id="large patterns"),
    row({"patternProperties": {r"\p{L}{100}": {}}}, LARGE_PATTERN, id="names by a large pattern"),
    row({"pattern": r"(?=a)"}, LARGE_PATTERN, id="look-around"),
    row({"pattern": "a" * 1_001}, "has 1,001 characters. Allowed: 1,000", id="a long pattern"),
    row(nested(900), DEEP, id="deep"),
    row(nested(2_000), "no JSON", id="deeper than JSON is read"),
    row({"$ref": "#/$defs/none"}, "it has no '#/$defs/none'", id="to nothing"),
    row({"$ref": "#none"}, "it has no '#none'", id="to no anchor"),
    row({"$ref": "http://127.0.0.1:9/schema.json"}, "is in another document", id="the network"),
    row({"$ref": "file:///etc/passwd"}, "is in another document", id="a file"),
    row({"$ref": 5}, "5 is not of type", id="no text"),
    row({"enum": ["x" * 60_000]}, "more than 50,000 characters", id="long"),
]


@table(*REFUSED)
def test_what_would_take_for_ever_is_refused_at_once(schema, told):
    """Processor time, which a busy machine does not add to."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    began = time.process_time()
    assert told in problem_with_schema(text)
    with pytest.raises(ValueError, match=r"schema|pattern"):
        compiled(text)
    assert time.process_time() - began < 0.5


def test_it_is_refused_where_people_write_it():
    schema = doubling(30)
    with pytest.raises(ValueError, match=CHECKS):
        build_scorer("json_schema", {"schema": schema})
    with pytest.raises(ValueError, match=CHECKS):
        Tool(name="look_up", parameters={"type": "object", **schema})


@table(
    (TREE, False),
    (HOLDS_ITSELF, False),
    (doubling(8), False),
    (patterns(MOST_PATTERNS, "[a-z]{1,60}"), False),
    ({"$defs": {"a": {"$anchor": "x"}}, "items": {"$ref": "#x"}}, False),
    ({"$defs": {"a/b~%": {}}, "items": {"$ref": "#/$defs/a~1b~0%25"}}, False),
    ({"prefixItems": [{}], "items": {"$ref": "#/prefixItems/0"}}, False),
    ({"properties": {"$ref": {"type": "string"}}}, False),  # only a name, but who knows
    ({"properties": {f"p{n}": {"type": "string"} for n in range(1_500)}}, True),
)
def test_what_people_write_is_accepted(schema, plain):
    text = json.dumps(schema)
    assert problem_with_schema(text) == ""
    assert is_plain(text) is plain


async def test_what_refers_on_is_judged_in_a_process_of_its_own():
    lane = ProcessLane()
    facts, the_case = Facts(), case()

    async def judged(name, options, answer, the_case):
        scorer = quick(name, options)
        assert judge_if_quick(scorer, answer, the_case, facts) is None
        return await judge_apart(lane.share(""), scorer, answer, the_case, facts)

    tree = json.dumps({"value": 1, "left": {"value": 2, "right": {}}})
    said = await judged("json_schema", {"schema": TREE}, tree, the_case)
    assert (said.value, said.reason[:10]) == (0.0, "left.right")
    calls = json.dumps({"name": "look_up", "arguments": {"value": 1}})
    wanted = case(json.dumps({"name": "look_up", "arguments": TREE}))
    assert (await judged("tool_call", {"arguments": "schema"}, calls, wanted)).value == 1.0
    bomb = case(json.dumps({"name": "look_up", "arguments": doubling(30)}))
    with pytest.raises(ScorerFailed, match=CHECKS):
        await judged("tool_call", {"arguments": "schema"}, calls, bomb)
    deep = '{"a":' * 60 + "1" + "}" * 60
    with pytest.raises(ScorerFailed, match="took longer than the 2 s"):
        await judged("json_schema", {"schema": DOUBLES_WITH_DEPTH}, deep, the_case)
    await lane.close()
