"""A document is plain data, whatever was written, and reading it cannot be made expensive."""

from time import process_time

import pytest

from workers.engine.documents import read_document
from workers.engine.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("kind: evaluate\nseed: 7", {"kind": "evaluate", "seed": 7}),
        ('{"kind": "evaluate", "seed": 7}', {"kind": "evaluate", "seed": 7}),
        ("{kind: evaluate}", {"kind": "evaluate"}),
        ("\ufeffa: 1", {"a": 1}),
        ("a: 2024-01-01", {"a": "2024-01-01"}),
        ("a: [x, 1.5, true, null]", {"a": ["x", 1.5, True, None]}),
        ("1: x", {"1": "x"}),
        ("", None),
    ],
)
def test_yaml_and_json_are_read(text, value):
    assert read_document(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", "in line 1, column"),
        ("a: b: c", "in line 1, column 5"),
        ("a: &x 1\nb: *x", "aliases (*name) are not read; write the value out in line 2"),
        ("a: !!python/object/apply:os.system [id]", "could not determine a constructor"),
        ("a: !!set {x}", "Use texts, numbers"),
        ("a: !!binary aGk=", "Use texts, numbers"),
        ("a: .nan", "Use texts, numbers"),
        ("a: .inf", "Use texts, numbers"),
        ('{"a": NaN}', "Use texts, numbers"),
        ("? [a]\n: b", "unhashable"),
        ("a: \x00", "Use texts, numbers"),
        ("[" * 20_000, "nested too deeply"),
        ("a: " + "x" * 1_100_000, "larger than 1024 KB"),
    ],
)
def test_what_is_not_plain_data_is_refused_with_the_place(text, message):
    with pytest.raises(ConfigurationError) as error:
        read_document(text)
    (problem,) = error.value.problems
    assert message in problem.message


def test_a_bomb_of_aliases_does_not_go_off():
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    start = process_time()
    with pytest.raises(ConfigurationError):
        read_document("\n".join(lines))
    assert process_time() - start < 1.0
