"""What the layers' linter cannot see."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOORS = [*ROOT.glob("runs/views/*.py"), ROOT / "runs/consumers.py", ROOT / "workers/actors.py"]
TEMPLATE_LINE = 120  # characters
WRITING = {"save", "create", "bulk_create", "update", "delete", "get_or_create", "update_or_create"}


def calls_in(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield node


@pytest.mark.parametrize("path", DOORS, ids=lambda path: path.name)
def test_doors_do_not_query_or_write(path: Path) -> None:
    for call in calls_in(path):
        text = ast.unparse(call.func)
        assert ".objects." not in text, f"{path.name}:{call.lineno} asks the database itself"
        is_write = isinstance(call.func, ast.Attribute) and call.func.attr in WRITING
        assert not (is_write and ".objects" in text), f"{path.name}:{call.lineno} writes"


def test_only_services_publish_and_enqueue() -> None:
    names = {"publish", "enqueue_advance", "enqueue_chunk", "group_send"}
    allowed = {ROOT / "runs/live.py", ROOT / "workers/queue.py"}
    for path in [*ROOT.glob("runs/**/*.py"), *ROOT.glob("workers/**/*.py")]:
        if path in allowed or "services" in path.parts:
            continue
        for call in calls_in(path):
            assert ast.unparse(call.func).split(".")[-1] not in names, f"{path}:{call.lineno}"


def test_all_yaml_goes_through_one_reader() -> None:
    """Others would let aliases, dates and deep nesting in."""
    found = [
        path
        for folder in ("runs", "workers", "evalsite")
        for path in ROOT.glob(f"{folder}/**/*.py")
        if "import yaml" in path.read_text()
    ]
    assert found == [ROOT / "workers/engine/spec/documents.py"]


@pytest.mark.parametrize("folder", ["runs", "workers", "evalsite"])
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


def test_templates_hold_no_inline_script_or_style() -> None:
    for path in ROOT.glob("templates/**/*.html"):
        text = path.read_text()
        assert "style=" not in text, path
        assert "<style" not in text, path
        assert "|safe" not in text, path
        for part in text.split("<script")[1:]:
            assert part.split(">")[1].startswith("</script"), f"{path}: inline script"


def test_lines_of_templates_stay_short() -> None:
    """A line that is wider than the screen is not read, and a change in it is not seen."""
    too_long = [
        f"{path.relative_to(ROOT)}:{number} has {len(line)} characters"
        for path in sorted(ROOT.glob("templates/**/*.html"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if len(line) > TEMPLATE_LINE
    ]
    assert not too_long, "\n".join(too_long)
