"""A promptfoo file as a configuration and its rows, with what was not understood."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from workers.engine.errors import ConfigurationError, Problem
from workers.engine.promptfoo.asserts import Scoring, read_asserts
from workers.engine.promptfoo.given_tests import Test, read_tests
from workers.engine.promptfoo.notes import Notes
from workers.engine.promptfoo.prompts import FindEndpoint, read_model, read_models, read_prompts
from workers.engine.spec.documents import read_document

UNDERSTOOD = {"description", "prompts", "providers", "targets", "tests", "defaultTest"}
SILENT = {"$schema"}  # says nothing about the evaluation
ANY_ANSWER: dict[str, Any] = {"regex": {"pattern": r"\S", "as": "any answer"}}


class Promptfoo(NamedTuple):
    """`document` lacks the name of its dataset, which is not stored yet."""

    name: str
    document: dict[str, Any]
    rows: list[dict[str, str]]
    expected: str
    notes: list[Problem]


def read_promptfoo(text: str, find: FindEndpoint) -> Promptfoo:
    """ConfigurationError if nothing can be made of it."""
    given = read_document(text)
    if not isinstance(given, Mapping):
        raise ConfigurationError([Problem("", "A promptfoo configuration is a mapping of fields.")])
    notes = Notes()
    note_others(given, notes)
    prompts = read_prompts(given.get("prompts", []), notes)
    models = read_models(given.get("providers") or given.get("targets") or [], find, notes)
    tests = read_tests(given, notes)
    problems = [
        Problem(name, f"There is nothing here that can be used. Give {what} in the file.")
        for name, what, found in (
            ("prompts", "texts", prompts),
            ("providers", "models, as in openai:gpt-4o-mini,", models),
            ("tests", "vars", [test for test in tests if test.row]),
        )
        if not found
    ]
    if problems:
        raise ConfigurationError(problems + notes.all())
    scoring = score_by(tests, models, find, notes)
    document = {
        "kind": "evaluate",
        "prompts": prompts,
        "models": models,
        "scorers": scoring.scorers,
        "combine": "all",
        **repeats_of(given, notes),
    }
    if scoring.expected:
        document["expected"] = scoring.expected
    rows = united([test.row for test in tests])
    return Promptfoo(name_of(given), document, rows, scoring.expected, notes.all())


def note_others(given: Mapping[str, Any], notes: Notes) -> None:
    for name, value in given.items():
        if name in UNDERSTOOD or name in SILENT:
            continue
        if name == "evaluateOptions" and isinstance(value, Mapping):
            for option in value:
                if option != "repeat":
                    notes.tell(f"{name}.{option}", "Left out: limits are set for a run here.")
            continue
        notes.unknown(str(name), name)


def score_by(tests: list[Test], models: list[Any], find: FindEndpoint, notes: Notes) -> Scoring:
    def find_model(provider: Any, path: str) -> Any:
        model = read_model(provider, path, find, notes) if provider else None
        if model is None:
            notes.tell(path, f"No model is named that judges: {models[0]!r} does it. Change it.")
        return model or models[0]

    scoring = read_asserts(tests, find_model, notes)
    if scoring.scorers:
        return scoring
    notes.tell("tests", "No assert is left: every answer that is not empty counts as right.")
    return Scoring([ANY_ANSWER], scoring.expected)


def repeats_of(given: Mapping[str, Any], notes: Notes) -> dict[str, int]:
    options = given.get("evaluateOptions")
    repeat = options.get("repeat") if isinstance(options, Mapping) else None
    if repeat is None:
        return {}
    if not isinstance(repeat, int) or isinstance(repeat, bool) or not 1 <= repeat <= 100:
        notes.unknown("evaluateOptions.repeat", repeat)
        return {}
    return {"repeats": repeat}


def name_of(given: Mapping[str, Any]) -> str:
    text = given.get("description")
    line = " ".join(text.split()) if isinstance(text, str) else ""
    return "".join(c for c in line if c.isprintable())[:100].strip() or "promptfoo"


def united(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return [{column: row.get(column, "") for column in columns} for row in rows]
