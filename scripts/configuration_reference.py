"""Writes docs/CONFIGURATION.md from the schema; a test says when it is out of date."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.engine.spec.reference import FieldRow, Part, Piece, Section, Table

ROOT = Path(__file__).resolve().parent.parent
PATH = ROOT / "docs" / "CONFIGURATION.md"
HEAD = """# Configurations

What a run is made of, as YAML or JSON: in a file for `manage.py run FILE`, in the YAML view of the
new-run page, and in the REST API. The site shows the same at /docs/configuration/. What a file may
bring besides, endpoints and a file of rows: [COMMAND_LINE.md](COMMAND_LINE.md). Written by
`make configuration` from the schema; do not edit.
"""


def write_reference() -> str:
    from workers.engine.spec.examples import EXAMPLES
    from workers.engine.spec.reference import reference

    examples = [f"### {one.title}\n{one.about}\n\n```yaml\n{one.yaml}```\n" for one in EXAMPLES]
    parts = [block for part in reference() for block in write_part(part)]
    return "\n".join([HEAD, "## Examples\n", *examples, *parts])


def write_part(part: Part) -> list[str]:
    return [
        f"## {part.title}\n{part.about}".rstrip() + "\n",
        *map(write_section, part.sections),
        *map(write_table, part.tables),
    ]


def write_section(section: Section) -> str:
    head = f'<a id="{section.anchor}"></a>\n### {section.title}\n{cell(section.about)}'.rstrip()
    if not section.fields:
        return f"{head}\n"
    heads = ["field", "type", "default", "bounds", "meaning"]
    return f"{head}\n\n{table(heads, map(field_cells, section.fields))}\n"


def field_cells(row: FieldRow) -> list[str]:
    default = "**needed**" if row.is_needed else f"`{row.default}`" if row.default else ""
    return [f"`{row.name}`", write_type(row.type), default, row.bounds, cell(row.meaning)]


def write_type(pieces: list[Piece]) -> str:
    return "".join(
        f"[{piece.text}](#{piece.target})" if piece.target else cell(piece.text) for piece in pieces
    )


def write_table(found: Table) -> str:
    heads = [*found.heads, "effect"] if found.effects else found.heads
    rows = (
        [*(f"`{value}`" for value in row), *([cell(effect)] if effect else [])]
        for row, effect in found.lines
    )
    return f"### {found.title}\n{found.about}\n\n{table(heads, rows)}\n"


def table(heads: list[str], rows: object) -> str:
    lines = [heads, ["---"] * len(heads), *rows]  # type: ignore[misc]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cell(text: str) -> str:
    """A bar ends a cell of a table, and angle brackets are markup."""
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    PATH.write_text(write_reference())
