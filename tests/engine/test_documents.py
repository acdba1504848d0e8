"""A document is plain data, whatever was written, and reading it cannot be made expensive."""

import json
from random import Random

import pytest
import yaml

from tests.harness.table import table
from workers.engine.errors import ConfigurationError
from workers.engine.spec.depth import LEFT_OUT, is_too_deep
from workers.engine.spec.documents import PlainLoader, read_document, write_document, write_line


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
    return {
        "".join(random.choices(PIECES, k=2)): any_value(random, depth)
        for _ in range(random.randrange(5))
    }


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
