"""A kind of run is known in its own folders and in two registries, and nowhere else."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from runs.kinds import SITE_KINDS
from tests.harness.table import table
from workers.engine.kinds import KINDS

ROOT = Path(__file__).resolve().parent.parent
NAMES = set(KINDS)
CLASSES = {kind.__name__ for kind in KINDS.values()}
OWN = (
    ROOT / "workers/engine/kinds",
    ROOT / "runs/kinds",
    ROOT / "workers/engine/select_best.py",  # the kind `select` for notebooks, under its own name
    ROOT / "workers/engine/hybrid_flow.py",  # the strategy hybrid of `evolve`, likewise
    ROOT / "workers/engine/query_mutation.py",  # the environments of `mutate`, likewise
)
MODULES = [
    path
    for top in ("evalsite", "runs", "workers")
    for path in sorted((ROOT / top).rglob("*.py"))
    if not any(path.is_relative_to(own) for own in OWN) and "migrations" not in path.parts
]
FOLDERS = re.compile(rf"(?:runs|workers\.engine)\.kinds\.(?:{'|'.join(NAMES)})\b")
MENTIONED = re.compile(rf"\b(?:{'|'.join(NAMES | CLASSES)})\b")
TEMPLATE_BRANCH = re.compile(rf"kind\s*[!=]=\s*[\"'](?:{'|'.join(NAMES)})\b")


def is_a_kind(node: ast.expr) -> bool:
    """A kind's name, alone or among others."""
    if isinstance(node, ast.Constant):
        return node.value in NAMES
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(map(is_a_kind, node.elts))
    return False


def is_kind_keyword(node: ast.keyword) -> bool:
    return (node.arg or "").split("__")[-1] == "kind" and is_a_kind(node.value)


def branches_in(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(map(is_a_kind, [node.left, *node.comparators])):
            yield node
        if isinstance(node, ast.MatchValue) and is_a_kind(node.value):
            yield node
        if isinstance(node, ast.Subscript) and is_a_kind(node.slice):
            yield node
        if isinstance(node, ast.keyword) and is_kind_keyword(node):
            yield node
        if isinstance(node, ast.ImportFrom) and FOLDERS.match(node.module or ""):
            yield node
        if isinstance(node, ast.Name) and node.id in CLASSES:
            yield node
        if isinstance(node, ast.Attribute) and node.attr in CLASSES:
            yield node


@table(
    'run.kind == "select"',
    'kind in ("evaluate", "select")',
    "isinstance(configuration, Selection)",
    "isinstance(configuration, select.Selection)",
    'runs.filter(kind="evaluate")',
    'runs.filter(run__kind="select")',
    'KINDS["evaluate"]',
    "from runs.kinds.select.page import short_name",
    'match kind:\n    case "select": pass',
)
def test_the_guard_sees(code):
    assert list(branches_in(ast.parse(code)))


def test_nothing_common_branches_on_a_kind_and_every_kind_is_in_both_registries():
    found = [
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)} {ast.unparse(node)}"
        for path in MODULES
        if MENTIONED.search(text := path.read_text())  # parsing the others takes seconds
        for node in branches_in(ast.parse(text))
    ]
    assert not found, "ask the kind instead:\n" + "\n".join(found)
    files = [*(ROOT / "templates").rglob("*.html"), *(ROOT / "static").rglob("*.*")]
    common = [path for path in files if "kinds" not in path.parts and path.suffix != ".png"]
    names = "|".join(NAMES)
    branch = re.compile(rf"{TEMPLATE_BRANCH.pattern}|#kind-(?:{names})|\.kind-(?:{names})")
    found = [str(p.relative_to(ROOT)) for p in common if branch.search(p.read_text("utf-8"))]
    assert not found, "ask the kind instead: " + ", ".join(found)
    assert list(KINDS) == list(SITE_KINDS)
