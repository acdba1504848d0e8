"""The links between a run and those that reran some of its trials."""

from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import QuerySet

from runs.models import Run

MOST = 10  # that a run links to, the newest first


class RerunLinks(NamedTuple):
    original: Run | None  # whose trials this run reran
    reruns: Sequence[Run]


def rerun_links(run: Run, seen: QuerySet[Run]) -> RerunLinks:
    """Of the runs that the person may see."""
    few = seen.only("pk", "rerun_what")
    original = few.filter(pk=run.rerun_of_id).first() if run.rerun_of_id else None
    return RerunLinks(original, list(few.filter(rerun_of=run).order_by("-pk")[:MOST]))
