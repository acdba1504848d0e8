"""Asserts of a promptfoo file as scorers. One of ours judges every case, so an assert that only
some tests have is left out and told; values that differ from test to test go into a column."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from workers.engine.named import UnknownName, WrongOptions
from workers.engine.promptfoo.given_tests import Assertion, Filling, Test, text_of
from workers.engine.promptfoo.notes import Notes
from workers.engine.scorers import build_scorer

MOST_SCORERS = 10
SEPARATORS = ("|", ";;", "\n", "§")
KNOWN_FIELDS = {"type", "value", "threshold", "weight", "metric", "provider"}
OWN_RUBRIC = "Rate how well the answer meets the criteria in the field `{}` of the case."

FindModel = Callable[[Any, str], Any]


class Kind(NamedTuple):
    """What an assert is here. `fixed`: the option that takes one value for all cases. `column`: the
    one that names a column; `expected` for the expected answer."""

    scorer: str
    options: dict[str, Any] = {}
    fixed: str = ""
    column: str = ""
    model: str = ""  # the option that names a model
    threshold: str = ""  # the option that takes its threshold
    needs_value: bool = True


EXPECTED = "expected"
KINDS = {
    "equals": Kind("exact", column=EXPECTED),
    "contains": Kind("contains", {"ignore_case": False}, "texts", EXPECTED),
    "icontains": Kind("contains", {}, "texts", EXPECTED),
    "contains-any": Kind("contains", {"ignore_case": False}, "texts", EXPECTED),
    "contains-all": Kind("contains", {"ignore_case": False, "match": "all"}, "texts", EXPECTED),
    "icontains-any": Kind("contains", {}, "texts", EXPECTED),
    "icontains-all": Kind("contains", {"match": "all"}, "texts", EXPECTED),
    "starts-with": Kind("starts_with", {"ignore_case": False}, column=EXPECTED),
    "regex": Kind("regex", fixed="pattern", column="pattern_field"),
    "is-json": Kind("json", {"in_block": False}, "json_schema", needs_value=False),
    "llm-rubric": Kind("rubric", {}, "rubric", "rubric", "judge", "threshold"),
    "model-graded-closedqa": Kind("closed_question", {}, "question", "", "judge"),
    "factuality": Kind("factuality", {}, "", EXPECTED, "judge", "threshold"),
    "model-graded-factuality": Kind("factuality", {}, "", EXPECTED, "judge", "threshold"),
    "similar": Kind("similarity", {"threshold": 0.75}, "", EXPECTED, "model", "threshold"),
    "bleu": Kind("bleu", {"threshold": 0.5}, "", EXPECTED, "", "threshold"),
    "latency": Kind("latency", threshold="milliseconds", needs_value=False),
    "cost": Kind("cost", threshold="dollars", needs_value=False),
}


class Scoring(NamedTuple):
    scorers: list[Any]
    expected: str  # the column of right answers; empty: none


class Group(NamedTuple):
    """One assert as several tests have it, with its value in each, by the test's number."""

    first: Assertion
    values: dict[int, Any]


def read_asserts(tests: Sequence[Test], find: FindModel, notes: Notes) -> Scoring:
    """Columns are added to the rows of the tests where scorers need them."""
    scoring = Scoring([], "")
    for group in grouped(tests):
        path, fields = group.first
        negated, kind = kind_of(str(fields["type"]))
        unknown = sorted(set(fields) - KNOWN_FIELDS)
        if kind is None or unknown:
            notes.unknown(path, ", ".join(unknown) if kind else fields["type"])
        elif len(group.values) < len(tests):
            notes.tell(
                path,
                f"{len(group.values)} of {len(tests)} tests have {fields['type']!r} as their "
                "assert; a scorer judges every case. Left out: give it to all, or split the tests.",
            )
        elif len(scoring.scorers) == MOST_SCORERS:
            notes.tell(path, f"There are {MOST_SCORERS} scorers already. Left out.")
        else:
            scoring = with_scorer(scoring, group, kind, negated, tests, find, notes)
    return scoring


def kind_of(name: str) -> tuple[bool, Kind | None]:
    if name in KINDS:
        return False, KINDS[name]
    return name.startswith("not-"), KINDS.get(name.removeprefix("not-"))


def grouped(tests: Sequence[Test]) -> list[Group]:
    """Asserts that differ in their value only are one; the second of a test is another."""
    groups: dict[str, Group] = {}
    marks: dict[str, str] = {}  # by path: all tests share those of defaultTest
    filling = Filling()
    for number, test in enumerate(tests):
        times: dict[str, int] = {}
        for one in test.asserts:
            mark = marks.get(one.path) or marks.setdefault(one.path, mark_of(one))
            times[mark] = times.get(mark, 0) + 1
            group = groups.setdefault(f"{mark} {times[mark]}", Group(one, {}))
            group.values[number] = filling.fill(one.fields.get("value"), test.row)
    return list(groups.values())


def mark_of(one: Assertion) -> str:
    others = {name: part for name, part in one.fields.items() if name != "value"}
    return json.dumps(others, sort_keys=True)


def with_scorer(
    scoring: Scoring,
    group: Group,
    kind: Kind,
    negated: bool,
    tests: Sequence[Test],
    find: FindModel,
    notes: Notes,
) -> Scoring:
    path, fields = group.first
    options = {**kind.options, **common_options(fields, kind, negated)}
    if kind.model:
        options[kind.model] = find(fields.get("provider"), f"{path}.provider")
    placed = place_value(scoring, group, kind, tests)
    if placed is None:
        notes.tell(
            path,
            "Its values differ from test to test, and the column of right answers is taken by "
            "another assert. Left out.",
        )
        return scoring
    try:
        build_scorer(kind.scorer, {**options, **placed.options})
    except (UnknownName, WrongOptions, ValueError) as error:
        notes.tell(path, f"Left out: {error}")
        return scoring
    entry = {kind.scorer: {**options, **placed.options}}
    return Scoring([*scoring.scorers, entry], placed.expected or scoring.expected)


def common_options(fields: Mapping[str, Any], kind: Kind, negated: bool) -> dict[str, Any]:
    options: dict[str, Any] = {"not": True} if negated else {}
    if isinstance(fields.get("weight"), int | float):
        options["weight"] = fields["weight"]
    if isinstance(fields.get("metric"), str):
        options["as"] = fields["metric"][:100]
    if kind.threshold and fields.get("threshold") is not None:
        options[kind.threshold] = fields["threshold"]
    return options


class Placed(NamedTuple):
    options: dict[str, Any]
    expected: str = ""


def place_value(scoring: Scoring, group: Group, kind: Kind, tests: Sequence[Test]) -> Placed | None:
    """Where the values go: into an option, or into a column. None: there is no room for them."""
    values = list(group.values.values())
    if not kind.needs_value and all(value is None for value in values):
        return Placed({})
    is_one = all(value == values[0] for value in values)
    if is_one and kind.fixed:
        return Placed({kind.fixed: option_of(kind, values[0])})
    if kind.column == EXPECTED:
        return place_expected(scoring, values, tests)
    if not kind.column:
        return None
    is_rubric = kind.column == "rubric"
    name = add_column("rubric" if is_rubric else "pattern", map(text_of, values), tests)
    return Placed({kind.column: OWN_RUBRIC.format(name) if is_rubric else name})


def option_of(kind: Kind, value: Any) -> Any:
    if kind.fixed == "texts":
        return [text_of(one) for one in (value if isinstance(value, list) else [value])]
    return text_of(value)


def place_expected(scoring: Scoring, values: Sequence[Any], tests: Sequence[Test]) -> Placed | None:
    options, separator = {}, ""
    if any(isinstance(value, list) for value in values):
        texts = [text_of(one) for value in values for one in (value or [])]
        separator = next((s for s in SEPARATORS if not any(s in text for text in texts)), "|")
        options = {"separator": separator}
    joined = [
        separator.join(map(text_of, value)) if isinstance(value, list) else text_of(value)
        for value in values
    ]
    for column in [scoring.expected] if scoring.expected else list(tests[0].row):
        if [test.row.get(column) for test in tests] == joined:
            return Placed(options, column)
    if scoring.expected:
        return None
    return Placed(options, add_column(EXPECTED, joined, tests))


def add_column(name: str, texts: Any, tests: Sequence[Test]) -> str:
    taken = {column for test in tests for column in test.row}
    column, number = name, 2
    while column in taken:
        column, number = f"{name}_{number}", number + 1
    for test, text in zip(tests, texts, strict=True):
        test.row[column] = text
    return column
