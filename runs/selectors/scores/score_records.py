"""Reads the records of trials: one when somebody looks at it, or those of a page of an export."""

import zlib
from collections.abc import Collection, Mapping
from typing import Any

import orjson

from runs.models import Run, Score, ScoreRecord
from workers.engine.kinds import KINDS


def may_have_records(run: Run) -> bool:
    """By its kind, so that lists need not look."""
    return KINDS[run.kind].keeps_records


def record_size(score: Score) -> int | None:
    """In bytes of JSON; None if it has no record."""
    return ScoreRecord.objects.filter(score=score.pk).values_list("size", flat=True).first()


def read_record(run: Run, position: int) -> bytes | None:
    """As JSON."""
    rows = ScoreRecord.objects.filter(score__run=run, score__position=position)
    packed = rows.values_list("packed", flat=True).first()
    return None if packed is None else zlib.decompress(packed)


def records_from(run: Run, start: int, end: int | None = None) -> Mapping[int, bytes]:
    """As JSON, by the positions of their trials."""
    rows = ScoreRecord.objects.filter(run=run, score__position__gte=start)
    rows = rows if end is None else rows.filter(score__position__lt=end)
    found = rows.values_list("score__position", "packed")
    return {position: zlib.decompress(packed) for position, packed in found}


def records_of(scores: Collection[Score]) -> Mapping[int, Any]:
    """The documents by the numbers of their scores."""
    rows = ScoreRecord.objects.filter(score__in=[score.pk for score in scores])
    found = rows.values_list("score_id", "packed")
    return {score_id: orjson.loads(zlib.decompress(packed)) for score_id, packed in found}
