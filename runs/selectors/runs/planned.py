"""How many trials a run has, in words: of what decides while it runs, only the most is known."""

from runs import formatting
from runs.models import Run
from workers.engine.kinds import KINDS


def most_word(run: Run) -> str:
    """It is planned as if all were tried, and ends when it is decided."""
    return "at most " if KINDS[run.kind].learns and not run.is_finished else ""


def planned_text(run: Run) -> str:
    return f"{most_word(run)}{formatting.counted(run.planned, 'trial')}"
