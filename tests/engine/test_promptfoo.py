"""What becomes of a promptfoo file: prompts, models, rows, scorers; and what is told besides."""

import json
from typing import Any

import pytest

from tests.harness.table import row, table
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.promptfoo.reading import read_promptfoo

PROMPT = "Translate {{text}} to {{ language }}."
BASE: dict[str, Any] = {
    "prompts": [PROMPT],
    "providers": ["openai:gpt-4o-mini"],
    "tests": [
        {"vars": {"text": "dog", "language": "French"}},
        {"vars": {"text": "cat", "language": "French"}},
    ],
}


def find(word, model):
    return {"openai": "main"}.get(word)


def read(**changes):
    return read_promptfoo(json.dumps({**BASE, **changes}), find)


def with_asserts(*asserts, **shared):
    """One list of asserts for each test."""
    pairs = zip(BASE["tests"], asserts, strict=True)
    return read(tests=[{**test, "assert": given} for test, given in pairs], **shared)


def paths(found):
    return [note.path for note in found.notes]


def check(found):
    read_configuration({**found.document, "name": "x", "dataset": {"rows": found.rows}})


def test_prompts_models_and_rows():
    chat = '[{"role": "system", "content": "Be terse."}, {"role": "user", "content": "{{text}}"}]'
    found = read(
        description=" Two  languages ",
        prompts=[PROMPT, {"raw": chat, "label": "chat"}],
        providers=[
            "openai:chat:gpt-4o-mini",
            {"id": "openai:gpt-4o", "config": {"temperature": 0, "max_tokens": 9}},
        ],
        tests=[{"description": "both", "vars": {"text": ["dog", "cat"], "language": "French"}}],
        evaluateOptions={"repeat": 3},
    )
    assert (found.name, found.document["repeats"]) == ("Two languages", 3)
    plain, second = found.document["prompts"]
    assert plain == {"name": "prompt 1", "user": PROMPT}
    assert (second["name"], len(second["messages"])) == ("chat", 2)
    parameters = {"temperature": 0, "max_tokens": 9}
    assert found.document["models"] == [
        "main/gpt-4o-mini",
        {"endpoint": "main", "model": "gpt-4o", "parameters": parameters},
    ]
    assert [row["text"] for row in found.rows] == ["dog", "cat"]
    assert found.rows[0]["description"] == "both"
    check(found)


@table(
    ({"type": "contains", "value": "x"}, {"contains": {"ignore_case": False, "texts": ["x"]}}),
    ({"type": "icontains", "value": "x"}, {"contains": {"texts": ["x"]}}),
    (
        {"type": "not-icontains-all", "value": ["x", 2]},
        {"contains": {"match": "all", "not": True, "texts": ["x", "2"]}},
    ),
    ({"type": "regex", "value": "a+"}, {"regex": {"pattern": "a+"}}),
    ({"type": "is-json"}, {"json": {"in_block": False}}),
    (
        {"type": "is-json", "value": {"type": "object"}},
        {"json": {"in_block": False, "json_schema": '{"type": "object"}'}},
    ),
    (
        {"type": "llm-rubric", "value": "Is kind.", "provider": "openai:gpt-4o", "weight": 2},
        {"rubric": {"weight": 2, "judge": "main/gpt-4o", "rubric": "Is kind."}},
    ),
    ({"type": "latency", "threshold": 900}, {"latency": {"milliseconds": 900}}),
    ({"type": "cost", "threshold": 0.1, "metric": "m"}, {"cost": {"as": "m", "dollars": 0.1}}),
)
def test_asserts_of_all_tests_become_scorers(given, scorer):
    found = read(defaultTest={"assert": [given]})
    assert (found.document["scorers"], found.notes) == ([scorer], [])
    check(found)


@table(
    ("equals", {"exact": {}}),
    ("starts-with", {"starts_with": {"ignore_case": False}}),
    ("factuality", {"factuality": {"judge": "main/gpt-4o-mini"}}),
)
def test_values_of_each_test_become_the_expected_answer(kind, scorer):
    found = with_asserts([{"type": kind, "value": "chien"}], [{"type": kind, "value": "chat"}])
    assert (found.document["scorers"], found.expected) == ([scorer], "expected")
    assert [row["expected"] for row in found.rows] == ["chien", "chat"]
    check(found)


def test_a_column_is_named_by_a_value_and_holds_one_kind_of_answers():
    given = {"type": "equals", "value": "{{text}}"}
    found = read(defaultTest={"assert": [given]})
    assert (found.expected, list(found.rows[0])) == ("text", ["text", "language"])
    # Two kinds of right answers do not fit into one column.
    pair = [{"type": "equals", "value": "a"}, {"type": "starts-with", "value": "b"}]
    found = with_asserts(pair, [{"type": "equals", "value": "c"}, pair[1]])
    assert found.document["scorers"] == [{"exact": {}}]
    assert paths(found) == ["tests.0.assert.1"]


def test_lists_and_patterns_and_rubrics_of_each_test_go_into_columns():
    found = with_asserts(
        [
            {"type": "contains-any", "value": ["a|b", "c"]},
            {"type": "regex", "value": "x+"},
            {"type": "llm-rubric", "value": "Is short."},
        ],
        [
            {"type": "contains-any", "value": ["d"]},
            {"type": "regex", "value": "y+"},
            {"type": "llm-rubric", "value": "Is long."},
        ],
    )
    contains, regex, rubric = found.document["scorers"]
    assert contains["contains"]["separator"] == ";;"
    assert regex == {"regex": {"pattern_field": "pattern"}}
    assert "field `rubric`" in rubric["rubric"]["rubric"]
    assert found.rows[0]["expected"] == "a|b;;c"
    assert (found.rows[1]["pattern"], found.rows[1]["rubric"]) == ("y+", "Is long.")
    assert paths(found) == ["tests.0.assert.2.provider"]  # the first model judges
    check(found)


def test_what_is_not_understood_is_told_by_its_path():
    found = read(
        prompts=[PROMPT, "file://prompt.txt", "{% if x %}y{% endif %}"],
        providers=[
            "openai:gpt-4o",
            "file://own.py",
            "bedrock:m",
            {"openai:x": {"config": {"apiKey": "sk-secret"}}},
        ],
        defaultTest={
            "assert": [{"type": "javascript", "value": "output.length"}],
            "options": {"transform": "x"},
        },
        tests=[
            {
                "vars": {"text": "file://a.txt"},
                "assert": [{"type": "equals", "value": "x"}],
                "threshold": 1,
            },
            {"vars": {"text": "b"}, "assert": [{"type": "regex", "value": "(?=a)"}, "odd"]},
            "tests.csv",
        ],
        scenarios=[],
        evaluateOptions={"maxConcurrency": 4},
    )
    assert set(paths(found)) == {
        "scenarios", "evaluateOptions.maxConcurrency", "prompts.1", "prompts.2", "providers.1",
        "providers.2", "providers.3.config.apiKey", "defaultTest.options.transform",
        "defaultTest.assert.0",
        "tests.0.threshold", "tests.0.vars.text", "tests.0.assert.0", "tests.1.assert.0",
        "tests.1.assert.1", "tests.2", "tests",
    }  # fmt: skip
    told = {note.path: note.message for note in found.notes}
    assert told["tests.0.assert.0"].startswith("1 of 2 tests have 'equals'")
    assert "'javascript' has no equal here" in told["defaultTest.assert.0"]
    assert "No assert is left" in told["tests"]
    assert "write each test of a scenario" in told["scenarios"]
    assert "regex takes what is in its group" in told["defaultTest.options.transform"]
    for path, instead in (
        ("prompts.1", "'file://prompt.txt' is not read. Put the text of the prompt in its place."),
        ("providers.1", "'file://own.py' is not read. Add an endpoint"),
        ("tests.0.vars.text", "'file://a.txt' is not read. The column holds its name."),
        ("tests.2", "'tests.csv' is not read. Write its tests here, or import that file"),
    ):
        assert told[path].startswith(instead)
    assert "sk-secret" not in str(found)
    check(found)


def test_files_of_tests_are_imported_apart():
    with pytest.raises(ConfigurationError) as error:
        read(tests="file://cases.csv", defaultTest="file://shared.yaml")
    told = {problem.path: problem.message for problem in error.value.problems[1:]}
    assert "Import that file on the page Datasets" in told["tests"]
    assert "'file://shared.yaml' is not read." in told["defaultTest"]


@table(
    ("[]", "is a mapping of fields"),
    ("prompts: []", "nothing here that can be used"),
    ("a: &x [*x]", ""),
    ("a: !!python/object:os.system x", ""),
    ("x" * 300_000, "larger than 256 KB"),
    ("[" * 100, ""),
)
def test_what_cannot_be_read_is_refused(text, told):
    with pytest.raises(ConfigurationError) as caught:
        read_promptfoo(text, find)
    assert told in str(caught.value.problems)


def test_lists_that_multiply_end_somewhere():
    many = {f"v{n}": list(range(100)) for n in range(5)}
    found = read(tests=[{"vars": {**BASE["tests"][0]["vars"], **many}}])
    assert len(found.rows) == 10_000
    assert "More than 10,000 rows" in found.notes[0].message


MANY = [{"vars": {"a": str(number)}} for number in range(3_000)]
LONG = "x" * 20_000
AGAIN = [{"type": "contains", "value": "{{a}}" * 10_000}]
BOMBS: dict[str, dict[str, Any]] = {
    "long values that multiply": {
        "tests": [{"vars": {"a": LONG, **{f"v{n}": ["y"] * 10 for n in range(4)}}}]
    },
    "a column for every row": {"tests": [{"vars": {f"c{number}": "y"}} for number in range(3_000)]},
    "8,000 prompts of one name": {"prompts": [{"raw": "a", "label": "b"}] * 8_000},
    "8,000 models": {"providers": [f"openai:{number}" for number in range(8_000)]},
    "1,000 asserts for 3,000 tests": {
        "defaultTest": {"assert": [{"type": "x", "metric": str(n)} for n in range(1_000)]},
        "tests": MANY,
    },
}


@table(*BOMBS)
def test_a_file_of_256_kb_stays_small(bomb):
    """Before there were bounds, these took up to minutes of the web process or gigabytes of it."""
    asked = []

    def count(word: str, model: str) -> str | None:
        asked.append(model)
        return "main"

    text = json.dumps({**BASE, **BOMBS[bomb]})
    assert len(text) <= 256 * 1024
    found = read_promptfoo(text, count)
    cells = [cell for row in found.rows for cell in row.values()]
    assert len(found.document["prompts"]) <= 500
    assert len(asked) <= 100
    assert len(cells) <= 200 * 200 or len(found.rows[0]) < 10
    assert max(map(len, cells)) <= 256 * 1024
    assert sum(map(len, cells)) <= 2 * 20 * 1024 * 1024
    assert len(found.notes) <= 201
    assert any("left out" in note.message for note in found.notes)


@table(
    row("{{a}}" * 10_000, 1, id="names a long text 10,000 times"),
    row("{{a}}" * 20, 1_000, id="names it 20 times in every row"),
    row(LONG, 10_000, id="is long in every row"),
    row([LONG, {"b": LONG}], 10_000, id="is long and no text"),
)
def test_a_value_that_would_be_gigabytes_is_refused(value, rows):
    numbers = [str(number) for number in range(rows)]
    asserts = [{"type": "equals", "value": value}]
    with pytest.raises(ConfigurationError, match="20 MB over all rows"):
        read(
            tests=[{"vars": {"b": numbers}, "assert": asserts}],
            defaultTest={"vars": {"a": LONG[:1900]}},
        )


@table(5, [[1]], "provider", True)
def test_options_that_are_no_mapping_are_left_out(odd):
    found = read(tests=[{"vars": {"text": "dog"}, "options": odd}])
    assert "tests.0.options" in paths(found)
