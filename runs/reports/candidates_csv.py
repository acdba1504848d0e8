"""The leaderboard as a file that no spreadsheet takes for formulas."""

import csv
from io import StringIO
from typing import Any

from runs.models import Run
from runs.selectors.runs.leaderboard import LeaderboardRow, leaderboard
from workers.engine.spreadsheets import guard

SAME = (
    *("rank", "key", "name", "prompt_name", "model", "value", "low", "high", "interval", "n"),
    *(
        "cases",
        "failed",
        "value_failures_wrong",
        "value_failures_right",
        "compared_value",
        "compared_cases",
    ),
)
LAST = ("latency_p50", "latency_p95", "tokens_in", "tokens_out", "cost_per_thousand")


def write_candidates_csv(run: Run) -> str:
    file = StringIO()
    rows = [cells_of(row) for row in leaderboard(run)]
    writer = csv.DictWriter(file, list(rows[0]) if rows else SAME)
    writer.writeheader()
    writer.writerows({name: guard(cell) for name, cell in row.items()} for row in rows)
    return file.getvalue()


def cells_of(row: LeaderboardRow) -> dict[str, Any]:
    versus = row.versus_best.as_record() if row.versus_best else {}
    repeats = row.repeats._asdict() if row.repeats else {}
    return {
        **{name: getattr(row, name) for name in SAME},
        "bootstrap_low": row.bootstrap.low if row.bootstrap else None,
        "bootstrap_high": row.bootstrap.high if row.bootstrap else None,
        "to_best": versus.get("mean"),
        "to_best_low": versus.get("low"),
        "to_best_high": versus.get("high"),
        "p_corrected": versus.get("p_corrected"),
        "separable_from_best": row.separable,
        "more_cases": versus.get("more_cases"),
        "k": repeats.get("k"),
        "majority": repeats.get("majority"),
        "pass_at_k": repeats.get("pass_at_k"),
        "pass_hat_k": repeats.get("pass_hat_k"),
        **{name: getattr(row, name) for name in LAST},
    }
