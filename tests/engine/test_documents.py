"""A document is plain data, and reading it cannot be made expensive."""

import json
import time
from random import Random

import pytest
import yaml

from tests.engine.running import case, quick
from tests.harness.table import row, table
from workers.engine.errors import ConfigurationError, ScorerFailed
from workers.engine.judgements import judge_apart, judge_if_quick
from workers.engine.records import Facts
from workers.engine.scorers import build_scorer
from workers.engine.scorers.schemas import MOST_PATTERNS, compiled, is_plain, problem_with_schema
from workers.engine.spec.depth import LEFT_OUT, is_too_deep
from workers.engine.spec.documents import PlainLoader, read_document, write_document, write_line
from workers.engine.spec.tools import Tool


@table(
    ("kind: evaluate\nseed: 7", {"kind": "evaluate", "seed": 7}),
    ('{"kind": "evaluate", "seed": 7}', {"kind": "evaluate", "seed": 7}),
    ("{kind: evaluate}", {"kind": "evaluate"}),
    ("\ufeffa: 1", {"a": 1}),
    ("a: 2024-01-01", {"a": "2024-01-01"}),
    ("a: [x, 1.5, true, null]", {"a": ["x", 1.5, True, None]}),
    ("1: x", {"1": "x"}),
    ("", None),
)
def test_yaml_and_json_are_read(text, value):
    assert read_document(text) == value


# 2 ** 40 texts, which would take days.
BOMB = "a0: &a0 [x, x]\n" + "\n".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))


@table(
    ("a: [1", "at the end, in line 1"),
    ("a: 1\nb: [2\n", "at the end, in line 2"),
    ("a: b: c", "in line 1, column 5"),
    ("a: &x 1\nb: *x", "aliases (*name) are not read; write the value out in line 2"),
    (BOMB, "aliases (*name) are not read"),
    ("a: !!python/object/apply:os.system [id]", "tags such as !!set are not read"),
    ("a: !!set {x}", "tags such as !!set are not read; write the plain value in line 1, column 4"),
    ("a: !!binary aGk=", "tags such as !!set are not read"),
    ("a: .nan", "Use texts, numbers"),
    ("a: .inf", "Use texts, numbers"),
    ('{"a": NaN}', "Use texts, numbers"),
    ("? [a]\n: b", "unhashable"),
    ("a: \x00", "Use texts, numbers"),
    ('a: !!int ""', "tags such as !!set are not read"),
    ("%TAG ! tag:yaml.org,2002:\n--- a", "%TAG is not read"),
    ("[" * 20_000, "nested too deeply"),
    ("[" * 65 + "]" * 65, "nested too deeply"),
    ("- " * 100_000, "nested too deeply (more than 64 levels) in line 1, column 129"),
    ("{a: " * 60_000, "nested too deeply (more than 64 levels) in line 1, column 257"),
    ("a: " + "1:" * 100_000 + "1", "a number has more than 300 characters"),
    ("- a\n" * 60_000, "more than 50,000 values; import rows as a dataset in line 50000"),
    ("a: " + "x" * 262_144, "larger than 256 KB. Import the rows as a dataset"),
    ('{"a": "' + "x" * 262_144 + '"}', "larger than 256 KB. Import the rows as a dataset"),
)
def test_what_is_not_plain_data_is_refused_with_the_place(text, message):
    with pytest.raises(ConfigurationError) as error:
        read_document(text)
    (problem,) = error.value.problems
    assert message in problem.message


PIECES = [
    "plain", "yes", "null", "1e3", "2024-01-01", "", " ", "  indented", "trailing ", "\n", "\n\n",
    "\t", "- item", "key: value", "# no comment", "{{question}}", "'", '"', "\\", "|", ">", "&a",
    "*a", "!tag", "%", "@", "`", "\u00e9", "\u2028", "\x85", "\x07", "\ufeff", "\U0001f600", "\r\n",
]  # fmt: skip


def any_value(random, depth=0):
    kinds = 3 if depth > 3 else 5
    match random.randrange(kinds):
        case 0 | 1:
            return "".join(random.choices(PIECES, k=random.randrange(5)))
        case 2:
            return random.choice([0, -1, 10**18, 0.1, 1e-9, 1e300, -0.0, True, False, None])
        case 3:
            return [any_value(random, depth + 1) for _ in range(random.randrange(4))]
    return any_mapping(random, depth + 1)


def any_mapping(random, depth=0):
    names = ["".join(random.choices(PIECES, k=2)) for _ in range(random.randrange(5))]
    return {name: any_value(random, depth) for name in names}


def test_what_is_written_is_readable_and_read_back_exactly():
    shared = {"temperature": 0}
    assert "&" not in write_document({"a": shared, "b": shared})
    assert write_document({"user": "One.\nTwo.\n"}) == "user: |\n  One.\n  Two.\n"
    # A document too large to be read is written as json.
    document = {"rows": [{"question": "x" * 1000} for _ in range(1200)]}
    assert json.loads(write_document(document)) == document
    random = Random(7)
    for _ in range(400):
        mapping = any_mapping(random)
        again = read_document(write_document(mapping))
        assert json.dumps(again) == json.dumps(mapping)  # the order and the types, too
    # In C: with PyYAML's own reader, 256 KB take 2 s of a web process.
    assert issubclass(PlainLoader, yaml.CSafeLoader)


def test_what_is_nested_too_deeply_is_written_without_its_depths():
    deep = json.loads("[" * 300 + "]" * 300)
    for text in (write_document({"a": 1, "deep": deep}), write_line("deep", deep)):
        again = read_document(text)
        assert LEFT_OUT in json.dumps(again, ensure_ascii=False)
        assert not is_too_deep(again)
    allowed = json.loads('{"a":' * 64 + "1" + "}" * 64)
    assert read_document(write_document(allowed)) == allowed


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


@table(
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
)
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


async def test_what_refers_on_is_judged_in_a_process_of_its_own(lane):
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
