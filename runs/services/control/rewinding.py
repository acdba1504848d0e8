"""Takes scores of a run back, with all that was counted of them but for what was paid."""

from collections.abc import Iterator, Sequence

from django.db.models import F

from runs.models import Chunk, ChunkState, Run, Score
from runs.services.chunks.judge_totals import take_judging
from runs.services.chunks.score_records import forget_records
from runs.services.chunks.totals import TALLIED, Tally, tally_by_candidate
from runs.services.events import note

AT_ONCE = 500  # rows in one statement


def take_out(run: Run, scores: Sequence[Score]) -> None:
    """Under the lock on the run's row."""
    for part in parts_of([score.pk for score in scores]):
        forget_records(part)
        Score.objects.filter(pk__in=part).delete()
    ids = {score.candidate_id for score in scores}
    candidates = {one.pk: one for one in run.candidates.filter(pk__in=ids)}
    tallies = tally_by_candidate(
        (score.candidate_id, candidates[score.candidate_id].role, score) for score in scores
    )
    for candidate_id, tally in tallies.items():
        tally.take_from(candidates[candidate_id])
        candidates[candidate_id].save(update_fields=Tally.names())
        tally.take_from(run)
    for score in scores:
        take_judging(run, score.judging)
    run.save(update_fields=TALLIED)


def forget_from(run: Run, position: int) -> None:
    """Undo the plan of a run from a trial on: its strategy decides differently now. Whoever works
    on such trials loses the lease; their answers are cached, should they be asked for again."""
    later = list(run.scores.filter(position__gte=position))
    take_out(run, later)
    run.chunks.filter(start__gte=position).delete()
    for chunk in run.chunks.all():
        kept = [trial for trial in chunk.trials if trial[0] < position]
        if len(kept) < len(chunk.trials):
            shorten(chunk, kept)
    run.asked = position
    run.save(update_fields=["asked"])
    trials = "1 later trial was" if len(later) == 1 else f"{len(later):,} later trials were"
    told = f"After the retry the strategy decides differently from trial {position} on"
    note(run, f"{told}, so {trials} removed; it asks again.")


def shorten(chunk: Chunk, trials: list[list[int]]) -> None:
    positions = [trial[0] for trial in trials]
    scored = chunk.run.scores.filter(position__in=positions).count()
    kept = chunk.kept or {}
    answers = {str(p): kept[str(p)] for p in positions if str(p) in kept}
    Chunk.objects.filter(pk=chunk.pk).update(
        trials=trials,
        state=ChunkState.DONE if scored == len(trials) else ChunkState.PENDING,
        kept=answers or None,
        token=F("token") + 1,
        lease_until=None,
        sent=None,
    )


def parts_of(ids: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(ids), AT_ONCE):
        yield ids[start : start + AT_ONCE]
