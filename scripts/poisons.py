"""What was made to hang a site or to fill its memory: as requests to its API, and as answers of a
model. Each says where it goes; none has to be accepted, all have to be borne."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

Json = dict[str, Any]


class Poison(NamedTuple):
    name: str
    route: str  # under /api/v1
    body: Json
    answer: str = ""  # of the model, where the poison is judged
    method: str = "POST"
    file: str = ""  # uploaded under this name: `body` has its text
    yaml: str = ""  # sent instead of `body`


def evaluation(**changes: Any) -> Json:
    return {
        "name": "poison",
        "kind": "evaluate",
        "dataset": {"rows": [{"question": "1 + 1", "expected": "2"}]},
        "prompts": [{"name": "plain", "user": "{{question}}"}],
        "models": ["simulated/sim-small"],
        "scorers": ["exact"],
        "cache": "off",
        **changes,
    }


def asked(name: str, **changes: Any) -> Iterator[Poison]:
    """Where a document is only looked at, and where it is tried."""
    body = {"configuration": evaluation(**changes)}
    yield Poison(f"{name}, estimate", "/runs/estimate", body)
    yield Poison(f"{name}, dry run", "/runs/dry", body)


def doubling(levels: int, **more: Any) -> Json:
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**twice, f"d{levels}": {"type": "string"}}, "$ref": "#/$defs/d0", **more}


def patterned(count: int, pattern: str) -> Json:
    return {"properties": {f"p{n}": {"pattern": f"{pattern}{n}"} for n in range(count)}}


def nested(levels: int) -> Any:
    found: Any = {}
    for _ in range(levels):
        found = {"not": found}
    return found


SCHEMAS: dict[str, Any] = {
    "27 levels that double": doubling(27),
    "45 levels that double": doubling(45),
    "12 levels that double": doubling(12),
    "doubling, nothing unevaluated": doubling(18, unevaluatedProperties=False),
    "doubling, no items unevaluated": doubling(18, unevaluatedItems=False),
    "150 large patterns": patterned(150, r"\p{L}{100}"),
    "100 large patterns": patterned(100, r"\p{L}{100}"),
    "100 patterns that backtrack": patterned(100, r"(a+)+$"),
    "names by a large pattern": {"patternProperties": {r"\p{L}{1000}": {}}},
    "one that holds itself": {"$ref": "#"},
    "one that holds itself twice": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
    "deep": nested(150),
    "1,500 names": {"properties": {f"p{n}": {"type": "string"} for n in range(1_400)}},
    "a chain of 900": {
        "$defs": {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(900)} | {"d900": {}},
        "$ref": "#/$defs/d0",
    },
    "over the network": {"$ref": "http://127.0.0.1:9/schema.json"},
}
PATTERNS = {
    "nested repeats": "(?:a?){1000}X" * 60,
    "letters of all scripts": r"\pL{1000}",
    "many groups": "(a)" * 300,
    "repeats of repeats": "((a{100}){100}){100}",
    "backtracking": "(a|aa)+$",
}
CODES = {
    "endless loop": "def score(answer, expected, case):\n    while True: pass",
    "much memory": "def score(answer, expected, case):\n    return [0] * 10**10",
    "deep recursion": "def score(a, e, c):\n    return score(a, e, c)",
    "large power": "def score(a, e, c):\n    return 9**9**9",
    "growing text": "def score(a, e, c):\n    t = 'x'\n    while True: t += t",
    "import os": "import os\ndef score(a, e, c):\n    return os.fork()",
}
TEMPLATES = {
    "many names": "{{question}}" * 20_000,
    "braces": "{{" * 100_000,
    "one long name": "{{" + "a" * 200_000 + "}}",
}
CRONS = ("* * * * * *", "*/0 * * * *", "0 0 30 2 *", "0-59/1 " * 50, "1," * 5000 + "1 * * * *")
STEP = {"name": "s", "user": "{{question}}"}


def steps_of(*sizes: int) -> list[Json]:
    return [
        {**STEP, "name": f"s{step}", "models": [f"simulated/m{model}" for model in range(size)]}
        for step, size in enumerate(sizes)
    ]


def selection(sizes: tuple[int, ...], strategy: Any = "arm_elimination") -> Json:
    kept = {
        name: value for name, value in evaluation().items() if name not in ("prompts", "models")
    }
    return {**kept, "kind": "select", "steps": steps_of(*sizes), "strategy": strategy}


WIDE = {
    "100,000 combinations": selection((100, 100, 10)),
    "10,000,000 combinations": selection((100, 100, 100, 10)),
    "10,000 combinations": selection((100, 100)),
    "4,900 combinations by Bayes": selection((70, 70), "bayesian"),
    "961 combinations by Bayes": selection((31, 31), {"name": "bayesian", "sample_fraction": 0.26}),
    "10,000 candidates": evaluation(
        prompts=[{"name": f"p{n}", "user": f"{n} {{{{question}}}}"} for n in range(500)],
        models=[f"simulated/m{n}" for n in range(20)],
    ),
    "the largest population": evaluation(
        kind="evolve",
        prompts=[{"name": f"p{n}", "system": f"{n}", "user": "{{question}}"} for n in range(500)],
    ),
    "a billion trials": evaluation(
        prompts=[{"name": f"p{n}", "user": "{{question}}"} for n in range(1000)], repeats=1000
    ),
}
CSVS = {
    "a row of 100,000 columns": ",".join(f"c{n}" for n in range(100_000)) + "\n1",
    "an open quote": 'a,b\n"' + "x" * 2_000_000,
    "a field of a megabyte": "a,b\n1," + "x" * 1_000_000,
    "NUL": "a,b\n\x00,1\n",
}
LINES = {
    "doubled names": "{" + ",".join(f'"a{n % 20_000}": 1' for n in range(40_000)) + "}",
    "deep lists": '{"a": ' + "[" * 50_000 + "]" * 50_000 + "}",
    "a large number": '{"a": ' + "9" * 100_000 + "}",
    "no end": '{"a": "' + "x" * 1_000_000,
}
YAMLS = {
    "a billion laughs": "a: &a [x, x]\n"
    + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in pairwise("abcdefghijklmnopqrstuvwxyz")),
    "a list that holds itself": "name: &a [*a]",
    "deep lists": "name: " + "[" * 20_000 + "]" * 20_000,
    "deep mappings": "".join(f"{' ' * n}a:\n" for n in range(1_000)),
    "an object of Python": "name: !!python/object/apply:os.system [true]",
    "a number in base 60": "name: " + ":".join(["59"] * 20_000),
    "a long number": "name: " + "9" * 100_000,
    "merges of merges": "a: &a {k: v}\n"
    + "".join(f"b{n}: &b{n} {{<<: [*a, *a], k{n}: v}}\n" for n in range(2_000)),
    "50,000 documents": "---\n" * 50_000,
    "an anchor for each of 50,000": "".join(f"- &a{n} x\n" for n in range(50_000)),
}
JUDGED = {
    "a schema that doubles with depth": (
        {"json_schema": {"schema": {"properties": {"a": {"allOf": [{"$ref": "#"}] * 2}}}}},
        '{"a":' * 60 + "1" + "}" * 60,
    ),
    "an expected call whose schema doubles": (
        {"tool_call": {"arguments": "schema"}},
        '{"name": "f", "arguments": {"a": 1}}',
    ),
    "brackets": ("json", "[" * 90_000),
    "code without an end": ({"code": {"source": CODES["endless loop"]}}, "1"),
}


def poisons() -> Iterator[Poison]:
    yield from in_documents()
    yield from in_files()
    for name, (scorer, answer) in JUDGED.items():
        expected = json.dumps({"name": "f", "arguments": doubling(30)})
        rows = [{"question": f"{n} + 1", "expected": expected} for n in range(4)]
        document = evaluation(dataset={"rows": rows}, scorers=[scorer])
        yield Poison(f"judged: {name}", "/runs", {"configuration": document}, answer)


def in_documents() -> Iterator[Poison]:
    for name, schema in SCHEMAS.items():
        yield from asked(f"schema: {name}", scorers=[{"json_schema": {"schema": schema}}])
        tool = {"name": "f", "parameters": {"type": "object", **schema}}
        prompt = {"name": "plain", "user": "{{question}}", "tools": [tool]}
        yield from asked(f"schema of a tool: {name}", prompts=[prompt])
    for name, pattern in PATTERNS.items():
        yield from asked(f"pattern: {name}", scorers=[{"regex": {"pattern": pattern}}])
    for name, source in CODES.items():
        yield from asked(f"code: {name}", scorers=[{"code": {"source": source}}])
    for name, text in TEMPLATES.items():
        yield from asked(f"template: {name}", prompts=[{"name": "plain", "user": text}])
    for name, document in WIDE.items():
        yield Poison(f"wide: {name}", "/runs/estimate", {"configuration": document})
        yield Poison(f"wide: {name}, launched", "/runs", {"configuration": document})
    for cron in CRONS:
        body = {"cron": cron, "time_zone": "UTC"}
        yield Poison(f"cron: {cron[:20]}", "/configuration-schedules/sums", body, method="PUT")


def in_files() -> Iterator[Poison]:
    for name, text in YAMLS.items():
        yield Poison(f"yaml: {name}", "/configurations", {}, yaml=text)
    for ending, files in (("csv", CSVS), ("jsonl", LINES)):
        for name, text in files.items():
            yield Poison(f"rows: {name}", "/datasets", {"file": text}, file=f"poison.{ending}")
