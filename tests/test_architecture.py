"""What the linter of layers cannot see, such as whether code far from a kind knows of it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

from runs.kinds import SITE_KINDS
from runs.roles import Permission
from tests.harness.table import table
from workers.engine.kinds import KINDS

ROOT = Path(__file__).resolve().parent.parent
DOORS = [
    *ROOT.glob("runs/views/**/*.py"),
    *ROOT.glob("runs/api/**/*.py"),
    *ROOT.glob("runs/admin/**/*.py"),
    *ROOT.glob("runs/management/**/*.py"),
    ROOT / "runs/consumers.py",
    ROOT / "workers/actors.py",
]
MANAGERS = {"objects", "_default_manager", "_base_manager"}
ALWAYS_WRITE = {"bulk_create", "bulk_update", "get_or_create", "update_or_create"}
# Others have methods of these names, too: a dict is updated, a route is declared with `delete`.
WRITE_WITH_KEYWORDS = {"update", "create"}
WRITE_WITH_NOTHING = {"delete", "save"}
QUERY = {"order_by", "values_list", "annotate", "aggregate", "select_related", "select_for_update"}
ANNOUNCING = {"publish", "enqueue_advance", "enqueue_chunk", "group_send"}
TEMPLATE_LINE = 120  # characters


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def database_uses(code: str, *, may_query: bool = False) -> list[int]:
    """The lines that ask a manager, narrow and order rows, or write some."""
    nodes = list(ast.walk(ast.parse(code)))
    found = [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Attribute)
        and node.attr in MANAGERS
        and ast.unparse(node.value).split(".")[-1][:1].isupper()  # of a class, by its name
    ]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return found + [call.lineno for call in calls if touches_rows(call, may_query=may_query)]


def touches_rows(call: ast.Call, *, may_query: bool) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    method, given = call.func.attr, [keyword.arg for keyword in call.keywords]
    if method in ALWAYS_WRITE or (method in QUERY and not may_query):
        return True
    if method in WRITE_WITH_KEYWORDS:
        return bool(given) and not call.args
    return method in WRITE_WITH_NOTHING and not call.args and "commit" not in given


def test_doors_do_not_query_or_write():
    """Doors narrow what `runs.access` hands out; Django's admin is made of querysets."""
    for path in DOORS:
        found = database_uses(path.read_text(), may_query="admin" in path.parts)
        assert not found, f"{name_of(path)}, lines {found}: ask a selector."


USES = """
    Run.objects.get(pk=1)
    find = Run.objects.filter
    models.Run._default_manager.all()
    run.save()
    run.save(update_fields=['state'])
    run.delete()
    run.scores.all().delete()
    runs.update(state='done')
    run.scores.create(value=1)
    run.scores.bulk_create(rows)
    runs_for(owner).order_by('-pk')
"""
OTHER_THINGS = """
    form.save(commit=False)
    known.update(more)
    bar.update(task, completed=3)
    routes.delete('/runs/{run_id}', auth=needs(Scope.MANAGE))
    reference().objects
    datasets_for(user).filter(archived=None)
"""


def test_the_guard_of_the_doors_sees_uses_and_lets_other_things_be():
    uses, others = (dedent(lines).split("\n")[1:-1] for lines in (USES, OTHER_THINGS))
    assert [code for code in [*uses, *others] if database_uses(code)] == uses


def announcements(code: str) -> list[int]:
    """Every line that names one of them: called, handed on in a partial, bound to another name,
    imported under one, or looked up by its text."""
    nodes = [node for node in ast.walk(ast.parse(code)) if ANNOUNCING & set(named_in(node))]
    return [getattr(node, "lineno", 0) for node in nodes]


def named_in(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.alias):
        return [node.name]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def test_only_services_publish_and_enqueue():
    allowed = {ROOT / "runs/live.py", ROOT / "workers/queue.py"}
    for path in [*ROOT.glob("runs/**/*.py"), *ROOT.glob("workers/**/*.py")]:
        if path in allowed or "services" in path.parts:
            continue
        found = announcements(path.read_text())
        assert not found, f"{name_of(path)}, lines {found}: let a service announce it."


@table(
    "publish(run.pk)",
    "live.publish(run.pk)",
    "transaction.on_commit(partial(publish, run.pk))",
    "on_commit(partial(queue.enqueue_chunk, 3))",
    "tell = enqueue_advance",
    "from runs.live import publish as tell",
    "getattr(live, 'publish')(run.pk)",
)
def test_the_guard_of_announcements_sees(code):
    assert announcements(code)


def test_every_permission_guards_something():
    files = [path for path in ROOT.glob("runs/**/*.py") if path.name != "roles.py"]
    doors = "".join(path.read_text() for path in files)
    assert [one.name for one in Permission if f"Permission.{one.name}" not in doors] == []


def test_all_yaml_goes_through_one_reader():
    """Others would let aliases, dates and deep nesting in."""
    folders = ("runs", "workers", "evalsite")
    files = [path for folder in folders for path in ROOT.glob(f"{folder}/**/*.py")]
    found = [path for path in files if "import yaml" in path.read_text()]
    assert found == [ROOT / "workers/engine/spec/documents.py"]


@table("runs", "workers", "evalsite")
def test_files_and_functions_stay_small(folder: str) -> None:
    for path in ROOT.glob(f"{folder}/**/*.py"):
        if "migrations" in path.parts:
            continue
        text = path.read_text()
        assert len(text.splitlines()) <= 400, f"{path} has grown too long"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or 0) - node.lineno + 1
                assert size <= 60, f"{path}:{node.lineno} {node.name} has {size} lines"


def test_templates_hold_no_inline_script_or_style_and_no_long_line():
    for path in ROOT.glob("templates/**/*.html"):
        text = path.read_text()
        assert "style=" not in text, path
        assert "<style" not in text, path
        assert "|safe" not in text, path
        for part in text.split("<script")[1:]:
            assert part.split(">")[1].startswith("</script"), f"{path}: inline script"
    # A line that is wider than the screen is not read, and a change in it is not seen.
    too_long = [
        f"{path.relative_to(ROOT)}:{number} has {len(line)} characters"
        for path in sorted(ROOT.glob("templates/**/*.html"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if len(line) > TEMPLATE_LINE
    ]
    assert not too_long, "\n".join(too_long)


# --- A kind of run is known in its own folders and in two registries, and nowhere else


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
