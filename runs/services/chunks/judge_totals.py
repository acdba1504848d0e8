"""Counts what judges asked, as a role of its own: in calls, since they have no trials."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from runs.models import Run
from runs.services.chunks.totals import RUN_COUNTS, RoleCounts, RunTally, add_to_role
from workers.engine.records import JUDGE, Judging, Score


class JudgeCounts(NamedTuple):
    """Of one answer that was judged, as it is stored with its score."""

    counts: RoleCounts
    latency_ms: float  # added up over the calls that were made and answered

    @property
    def as_document(self) -> dict[str, float]:
        return {**self.counts._asdict(), "latency_ms": self.latency_ms}


def count_judging(judging: Judging) -> JudgeCounts:
    answered = [call for call in judging.calls if not call.error]
    made = [call for call in answered if not call.cached]
    counts = RoleCounts(
        done=len(judging.calls),
        failed=len(judging.calls) - len(answered),
        sent=judging.sent,
        cached=len(answered) - len(made),
        cost=judging.cost or 0.0,
        tokens_in=sum(call.tokens_in or 0 for call in answered),
        tokens_out=sum(call.tokens_out or 0 for call in answered),
    )
    return JudgeCounts(counts, sum(call.latency_ms or 0.0 for call in made))


class JudgeTally(RunTally):
    def __init__(self, judgings: Iterable[Judging]) -> None:
        super().__init__()
        self._counts = [self._take(judging) for judging in judgings]

    def _take(self, judging: Judging) -> JudgeCounts:
        found = count_judging(judging)
        counts = found.counts
        self.calls_sent += judging.sent
        self.calls_retried += max(0, judging.sent - (counts.done - counts.cached))
        self.add_use(judging.cost, judging.cost_saved, judging.unpriced, judging.attempts)
        return found

    def add_to(self, run: Run, role: str) -> None:
        for name in RUN_COUNTS:
            setattr(run, name, getattr(run, name) + getattr(self, name))
        for counts, latency_ms in self._counts:
            change(run, counts, latency_ms)


def tally_judges(scores: Iterable[Score]) -> dict[str, RunTally]:
    """Nothing where no scorer asks."""
    judgings = [score.judging for score in scores if score.judging is not None]
    return {JUDGE: JudgeTally(judgings)} if judgings else {}


def take_judging(run: Run, judging: dict[str, Any] | None) -> None:
    """A score was taken out. What was paid stays counted."""
    if judging and "use" in judging:
        taken = {name: -number for name, number in judging["use"].items()}
        latency_ms = taken.pop("latency_ms")
        change(run, RoleCounts(**{**taken, "sent": 0, "cost": 0.0}), latency_ms)


def change(run: Run, counts: RoleCounts, latency_ms: float) -> None:
    """Tokens are among those columns of a run that count all roles."""
    run.tokens_in += counts.tokens_in
    run.tokens_out += counts.tokens_out
    add_to_role(run, JUDGE, counts, latency_ms=latency_ms)
