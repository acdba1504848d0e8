"""A score as the cells of a table, one text or number each: of CSV and of Parquet."""

from collections.abc import Mapping
from typing import Any

from runs.selectors.scores.columns import LINE, ScoreLine
from workers.engine.json_text import to_json

COLUMNS = [
    column
    for name in LINE
    for column in (("error_class", "error_message") if name == "error" else (name,))
]


def columns_of(with_records: bool) -> list[str]:
    return [*COLUMNS, "record"] if with_records else COLUMNS


def cells_of(score: ScoreLine) -> dict[str, Any]:
    """A cell holds one text: the error goes into two, and what the scorers said into one."""
    error = score["error"] or {"class": "", "message": ""}
    return {
        **score,
        "judgements": "; ".join(map(judgement_text, score["judgements"])),
        "error_class": error["class"],
        "error_message": error["message"],
        "record": to_json(score["record"]).decode() if score.get("record") is not None else "",
    }


def judgement_text(said: Mapping[str, Any]) -> str:
    value = "not scored" if said["value"] is None else f"{said['value']:g}"
    label = f" ({said['label']})" if said["label"] else ""
    return f"{said['name']} {value}{label}: {said['error'] or said['reason']}"
