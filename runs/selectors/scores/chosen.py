"""Which trials of a run a person means: those that filters leave, or those ticked one by one."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from runs.models import Candidate, Case, Run, Score
from runs.selectors.scores.trials import TrialFilters, filter_scores
from workers.engine.records import EVALUATE

MOST_TICKED = 1_000  # trials by number; filters name more
MOST_ROWS = 200  # of several tries each; a page has 50

_ADJECTIVES = {
    "ok": "scored",
    "correct": "correct",
    "wrong": "wrong",
    "failed": "failed",
    "cached": "cached",
}


ALL = TrialFilters()


@dataclass(frozen=True, slots=True)
class TrialChoice:
    filters: TrialFilters = ALL
    positions: tuple[int, ...] = ()  # ticked
    rows: tuple[tuple[int, int], ...] = ()  # ticked, with all tries: a candidate and a case each

    @property
    def is_ticked(self) -> bool:
        """Else all that the filters leave."""
        return bool(self.positions or self.rows)

    @property
    def is_failed_ones(self) -> bool:
        """Exactly the failed trials of the run, which any kind retries."""
        only_failed = TrialFilters(status="failed", sort=self.filters.sort)
        return not self.is_ticked and self.filters == only_failed

    @property
    def is_by_candidate(self) -> bool:
        return self.is_ticked or self.filters.candidate is not None

    @property
    def is_everything(self) -> bool:
        return not self.is_ticked and not self.filters.are_set

    def scores(self, run: Run) -> QuerySet[Score]:
        found = filter_scores(run, self.filters)
        return found.filter(self._ticked(run)) if self.is_ticked else found

    def _ticked(self, run: Run) -> Q:
        """Of a row the primary keys, so that each is a look into the index of trials."""
        asked = Q(position__in=self.positions) if self.positions else Q(pk__in=[])
        candidates = dict(run.candidates.values_list("position", "pk"))
        places = {case for _, case in self.rows}
        cases = Case.objects.filter(dataset=run.dataset_id, position__in=places)
        known = dict(cases.values_list("position", "pk"))
        for candidate, case in self.rows:
            if candidate in candidates and case in known:
                asked |= Q(run=run, candidate=candidates[candidate], case=known[case])
        return asked

    def words(self, count: int) -> str:
        """As in "37 wrong trials"."""
        status, trials = self.filters.status, "trial" if count == 1 else "trials"
        if self.is_ticked:
            return f"{count:,} chosen {trials}"
        if status in _ADJECTIVES and self.filters == TrialFilters(
            status=status, sort=self.filters.sort
        ):
            return f"{count:,} {_ADJECTIVES[status]} {trials}"
        return f"{count:,} filtered {trials}"


@dataclass(frozen=True, slots=True)
class ChosenTrials:
    """What a rerun of them is about."""

    trials: int
    failed: int
    cases: Sequence[int]  # their rows in the dataset, ascending
    candidates: Sequence[Candidate]  # with their documents
    by_people: int  # on which people gave a verdict or a comment


def look_at(run: Run, choice: TrialChoice) -> ChosenTrials:
    """Only trials that evaluate: others are the strategy's own."""
    scores = choice.scores(run).filter(candidate__role=EVALUATE).order_by()
    cases = scores.values_list("case__position", flat=True).distinct()
    candidates = run.candidates.filter(pk__in=scores.values("candidate").distinct())
    return ChosenTrials(
        trials=scores.count(),
        failed=scores.filter(value=None).count(),
        cases=sorted(cases),
        candidates=list(candidates.defer("latency_bins")),
        by_people=run.overrides.filter(score__in=scores).values("score").distinct().count(),
    )
