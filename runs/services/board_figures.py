"""Keeps what the leaderboard of a run says that needs all its cases, when the run has ended."""

from django.db import transaction

from runs.models import Run, RunFigures
from runs.selectors.runs.board_figures import compute, pack, stamp_of


def keep_figures_soon(run_id: int) -> None:
    """After the commit. A function, not a partial: Django names it in the log when it raises."""
    transaction.on_commit(lambda: keep_figures(run_id), robust=True)


def keep_figures(run_id: int) -> None:
    """Without a lock: it takes up to a second where there are 100,000 scores, and whoever reads
    figures sees by their stamp whether they are of the scores that there are."""
    run = Run.objects.filter(pk=run_id).first()
    if run is None or not run.is_finished:
        return  # it was removed, or goes on again
    board = compute(run)
    found = board.figures[board.best].estimate if board.best else None
    RunFigures.objects.update_or_create(
        run=run,
        defaults={
            "stamp": stamp_of(run),
            "best_id": board.best,
            "score": found.value if found else None,
            "low": found.low if found else None,
            "high": found.high if found else None,
            "n": found.n if found else None,
            "document": pack(board),
        },
    )
