"""What becomes of a promptfoo file: prompts, models, rows, scorers; and what is told besides."""

from json import dumps
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
    "tests": [{"vars": {"text": text, "language": "French"}} for text in ("dog", "cat")],
}


def find(word, model):
    return {"openai": "main"}.get(word)


def read(**changes):
    return read_promptfoo(dumps({**BASE, **changes}), find)


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
    parameters = {"temperature": 0, "max_tokens": 9}
    found = read(
        description=" Two  languages ",
        prompts=[PROMPT, {"raw": chat, "label": "chat"}],
        providers=["openai:chat:gpt-4o-mini", {"id": "openai:gpt-4o", "config": parameters}],
        tests=[{"description": "both", "vars": {"text": ["dog", "cat"], "language": "French"}}],
        evaluateOptions={"repeat": 3},
    )
    assert (found.name, found.document["repeats"]) == ("Two languages", 3)
    plain, second = found.document["prompts"]
    assert plain == {"name": "prompt 1", "user": PROMPT}
    assert (second["name"], len(second["messages"])) == ("chat", 2)
    larger = {"endpoint": "main", "model": "gpt-4o", "parameters": parameters}
    assert found.document["models"] == ["main/gpt-4o-mini", larger]
    assert [row["text"] for row in found.rows] == ["dog", "cat"]
    assert found.rows[0]["description"] == "both"
    check(found)


OBJECT, NO_BLOCK = {"type": "object"}, {"in_block": False}
RUBRIC = {"type": "llm-rubric", "value": "Is kind.", "provider": "openai:gpt-4o", "weight": 2}
ALL = {"type": "not-icontains-all", "value": ["x", 2]}


@table(
    ({"type": "contains", "value": "x"}, {"contains": {"ignore_case": False, "texts": ["x"]}}),
    ({"type": "icontains", "value": "x"}, {"contains": {"texts": ["x"]}}),
    (ALL, {"contains": {"match": "all", "not": True, "texts": ["x", "2"]}}),
    ({"type": "regex", "value": "a+"}, {"regex": {"pattern": "a+"}}),
    ({"type": "is-json"}, {"json": NO_BLOCK}),
    ({"type": "is-json", "value": OBJECT}, {"json": {**NO_BLOCK, "json_schema": dumps(OBJECT)}}),
    (RUBRIC, {"rubric": {"weight": 2, "judge": "main/gpt-4o", "rubric": "Is kind."}}),
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
    found = read(defaultTest={"assert": [{"type": "equals", "value": "{{text}}"}]})
    assert (found.expected, list(found.rows[0])) == ("text", ["text", "language"])
    # Two kinds of right answers do not fit into one column.
    pair = [{"type": "equals", "value": "a"}, {"type": "starts-with", "value": "b"}]
    found = with_asserts(pair, [{"type": "equals", "value": "c"}, pair[1]])
    assert found.document["scorers"] == [{"exact": {}}]
    assert paths(found) == ["tests.0.assert.1"]


def asserts(texts, pattern, rubric):
    kinds = {"contains-any": texts, "regex": pattern, "llm-rubric": rubric}
    return [{"type": kind, "value": value} for kind, value in kinds.items()]


def test_lists_and_patterns_and_rubrics_of_each_test_go_into_columns():
    found = with_asserts(asserts(["a|b", "c"], "x+", "Is short."), asserts(["d"], "y+", "Is long."))
    contains, regex, rubric = found.document["scorers"]
    assert contains["contains"]["separator"] == ";;"
    assert regex == {"regex": {"pattern_field": "pattern"}}
    assert "field `rubric`" in rubric["rubric"]["rubric"]
    assert found.rows[0]["expected"] == "a|b;;c"
    assert (found.rows[1]["pattern"], found.rows[1]["rubric"]) == ("y+", "Is long.")
    assert paths(found) == ["tests.0.assert.2.provider"]  # the first model judges
    check(found)


NOT_READ = {  # told by path; what has no text here is only told
    "scenarios": "write each test of a scenario",
    "evaluateOptions.maxConcurrency": "",
    "prompts.1": "'file://prompt.txt' is not read. Put the text of the prompt in its place.",
    "prompts.2": "",
    "providers.1": "'file://own.py' is not read. Add an endpoint",
    "providers.2": "",
    "providers.3.config.apiKey": "",
    "defaultTest.options.transform": "regex takes what is in its group",
    "defaultTest.assert.0": "'javascript' has no equal here",
    "tests.0.threshold": "",
    "tests.0.vars.text": "'file://a.txt' is not read. The column holds its name.",
    "tests.0.assert.0": "1 of 2 tests have 'equals'",
    "tests.1.assert.0": "",
    "tests.1.assert.1": "",
    "tests.2": "'tests.csv' is not read. Write its tests here, or import that file",
    "tests": "No assert is left",
}


def test_what_is_not_understood_is_told_by_its_path():
    code, text = {"type": "javascript", "value": "output.length"}, {"text": "file://a.txt"}
    equals, regex = {"type": "equals", "value": "x"}, {"type": "regex", "value": "(?=a)"}
    own = {"openai:x": {"config": {"apiKey": "sk-secret"}}}
    found = read(
        prompts=[PROMPT, "file://prompt.txt", "{% if x %}y{% endif %}"],
        providers=["openai:gpt-4o", "file://own.py", "bedrock:m", own],
        defaultTest={"assert": [code], "options": {"transform": "x"}},
        tests=[
            {"vars": text, "assert": [equals], "threshold": 1},
            {"vars": {"text": "b"}, "assert": [regex, "odd"]},
            "tests.csv",
        ],
        scenarios=[],
        evaluateOptions={"maxConcurrency": 4},
    )
    told = {note.path: note.message for note in found.notes}
    assert told.keys() == NOT_READ.keys()
    assert [path for path, text in NOT_READ.items() if text not in told[path]] == []
    assert "sk-secret" not in str(found)
    check(found)
    # Options that are no mapping are left out.
    for odd in (5, [[1]], "provider", True):
        found = read(tests=[{"vars": {"text": "dog"}, "options": odd}])
        assert "tests.0.options" in paths(found)


def test_files_of_tests_are_imported_apart_and_lists_that_multiply_end_somewhere():
    with pytest.raises(ConfigurationError) as error:
        read(tests="file://cases.csv", defaultTest="file://shared.yaml")
    told = {problem.path: problem.message for problem in error.value.problems[1:]}
    assert "Import that file on the page Datasets" in told["tests"]
    assert "'file://shared.yaml' is not read." in told["defaultTest"]
    many = {f"v{n}": list(range(100)) for n in range(5)}
    found = read(tests=[{"vars": {**BASE["tests"][0]["vars"], **many}}])
    assert len(found.rows) == 10_000
    assert "More than 10,000 rows" in found.notes[0].message


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


LONG, MANY = "x" * 20_000, {f"v{n}": ["y"] * 10 for n in range(4)}
BOMBS: dict[str, dict[str, Any]] = {
    "long values that multiply": {"tests": [{"vars": {"a": LONG, **MANY}}]},
    "a column for every row": {"tests": [{"vars": {f"c{number}": "y"}} for number in range(3_000)]},
    "8,000 prompts of one name": {"prompts": [{"raw": "a", "label": "b"}] * 8_000},
    "8,000 models": {"providers": [f"openai:{number}" for number in range(8_000)]},
    "1,000 asserts for 3,000 tests": {
        "defaultTest": {"assert": [{"type": "x", "metric": str(n)} for n in range(1_000)]},
        "tests": [{"vars": {"a": str(number)}} for number in range(3_000)],
    },
}


@table(*BOMBS)
def test_a_file_of_256_kb_stays_small(bomb):
    """Before there were bounds, these took up to minutes of the web process or gigabytes of it."""
    asked = []

    def count(word: str, model: str) -> str | None:
        asked.append(model)
        return "main"

    text = dumps({**BASE, **BOMBS[bomb]})
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
    test = {"vars": {"b": numbers}, "assert": [{"type": "equals", "value": value}]}
    with pytest.raises(ConfigurationError, match="20 MB over all rows"):
        read(tests=[test], defaultTest={"vars": {"a": LONG[:1900]}})
