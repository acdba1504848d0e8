"""Stores the records of trials with their scores, and takes them back with them."""

import zlib
from collections.abc import Iterable

from runs.models import Override, Run, ScoreRecord
from runs.models import Score as ScoreRow
from runs.services.chunks.inserting import insert_rows
from workers.engine.records import Score

FIELDS = ("score", "run", "size", "packed")
QUICKEST = 1  # of zlib: a quarter of the usual time, for an eighth more bytes


def store_records(run: Run, scores: Iterable[Score]) -> None:
    """Behind their scores, in the same transaction. Without records the database is asked
    nothing."""
    records = {s.trial.position: s.record for s in scores if s.record is not None}
    if not records:
        return
    stored = ScoreRow.objects.filter(run=run, position__in=list(records))
    rows = [
        (pk, run.pk, len(records[position]), zlib.compress(records[position], QUICKEST))
        for position, pk in stored.values_list("position", "pk")
    ]
    insert_rows(ScoreRecord, FIELDS, rows)


def forget_records(score_ids: list[int]) -> None:
    """Before their scores go; with what people said of the answers."""
    Override.objects.filter(score__in=score_ids).delete()
    ScoreRecord.objects.filter(score__in=score_ids).delete()
