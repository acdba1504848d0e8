"""The best of a run beside itself: where it was chosen, and on cases that it had not seen."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from runs import formatting
from runs.kinds import kind_of
from runs.models import Run
from runs.selectors.case_sources import positions_of
from runs.selectors.scores.by_case import tally_by_case
from workers.engine.kinds import read_configuration
from workers.engine.records import CONFIRM, EVALUATE
from workers.engine.statistics.boards import NOTHING_YET, Sums, Tries, clusters_of
from workers.engine.statistics.clusters import estimate_clustered
from workers.engine.statistics.intervals import Estimate
from workers.engine.statistics.paired import Difference, in_agreement
from workers.engine.statistics.separating import Separation, separate
from workers.engine.strategies.confirmed import confirmation_key


class ScoreFacts(BaseModel):
    value: float
    low: float
    high: float
    n: int


class RivalFacts(BaseModel):
    """What the run began with at its best, on the held-out cases. `difference` is that of the
    candidate that was chosen less this one, case by case, with its 95 % interval; `is_beaten` says
    that chance alone would hardly make it so large: p < 0.05, and the interval is above 0."""

    name: str
    held_out: ScoreFacts | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    is_beaten: bool


class ConfirmationFacts(BaseModel):
    """The candidate that was chosen, with its score on the cases that it was chosen by and on those
    that were held out; null while it has none. Who is best of many was lucky, too: believe the
    second."""

    candidate: str
    name: str
    chosen_by: ScoreFacts | None
    held_out: ScoreFacts | None
    held_out_cases: int
    is_done: bool
    rival: RivalFacts | None


class Rival(NamedTuple):
    """The best of what the run began with: what was chosen must beat it on held-out cases."""

    name: str
    held_out: Estimate | None
    versus: Separation

    @property
    def difference(self) -> Difference | None:
        found = self.versus.difference
        return in_agreement(found) if found else None

    @property
    def is_beaten(self) -> bool:
        """By the test and by the interval: where one of the two has doubts, nothing is shown."""
        found = self.difference
        return self.versus.is_behind and found is not None and found.low > 0

    @property
    def text(self) -> str:
        """As in: better than plain, the best that it began with: +0.120 there (…)."""
        found = self.difference
        if found is None:
            return f"nothing to compare with {self.name}, the best that it began with"
        said = "better than" if self.is_beaten else "not shown to be better than"
        return (
            f"{said} {self.name}, the best that it began with: {found.mean:+.3f} there (95 % "
            f"interval {found.low:+.3f} to {found.high:+.3f}, p = {found.p:.2g})"
        )

    def as_facts(self) -> RivalFacts:
        found = self.difference
        return RivalFacts(
            name=self.name,
            held_out=facts_of(self.held_out),
            difference=found.mean if found else None,
            low=found.low if found else None,
            high=found.high if found else None,
            p=found.p if found else None,
            is_beaten=self.is_beaten,
        )


class Confirmation(NamedTuple):
    key: str
    name: str
    chosen_by: Estimate | None
    held_out: Estimate | None
    cases: int  # held out
    done: int  # trials on them
    planned: int
    rival: Rival | None = None  # None: it was chosen from what was given, or it is the rival itself

    @property
    def is_done(self) -> bool:
        return self.done >= self.planned

    @property
    def text(self) -> str:
        """0.860 where it was chosen, 0.810 on 40 cases that it had not seen."""
        chosen = formatting.score(self.chosen_by.value if self.chosen_by else None)
        cases = formatting.counted(self.cases, "case")
        if self.held_out is None or not self.is_done:
            done = f"{self.done:,} of {self.planned:,} trials"
            return f"{chosen} where it was chosen; on {cases} that it had not seen: {done} so far"
        seen = formatting.score(self.held_out.value)
        interval = formatting.score_interval(self.held_out.low, self.held_out.high)
        told = f"{chosen} where it was chosen, {seen} on {cases} that it had not seen ({interval})"
        return f"{told}; {self.rival.text}" if self.rival else told

    @property
    def sentence(self) -> str:
        """For a gate: what it judges is the mean of all, this is the best alone."""
        return f"The best, {self.name}: {self.text}."

    def as_facts(self) -> ConfirmationFacts:
        return ConfirmationFacts(
            candidate=self.key,
            name=self.name,
            chosen_by=facts_of(self.chosen_by),
            held_out=facts_of(self.held_out),
            held_out_cases=self.cases,
            is_done=self.is_done,
            rival=self.rival.as_facts() if self.rival else None,
        )


def facts_of(found: Estimate | None) -> ScoreFacts | None:
    return ScoreFacts(**found._asdict()) if found else None


class HeldOut(NamedTuple):
    """What a page says of held-out cases."""

    cases: int
    confirmation: Confirmation | None  # None: the best is not known yet, or nobody has a score


def held_out_of(run: Run) -> HeldOut | None:
    """None: the run holds nothing out."""
    cases = count_held_out(run)
    if not cases:
        return None
    repeats = read_configuration(run.document).repeats
    return HeldOut(cases, confirmation_in(run, cases, cases * repeats))


def count_held_out(run: Run) -> int:
    """Cases that nobody is ranked by."""
    if run.document.get("held_out") is None:
        return 0
    return read_configuration(run.document).count_held_out(len(positions_of(run)))


def confirmation_in(run: Run, cases: int, planned: int) -> Confirmation | None:
    confirming = list(run.candidates.filter(role=CONFIRM).order_by("position")[:2])
    if not confirming:
        return None
    others = run.candidates.filter(role=EVALUATE).only("key", "name", "value_square_sum")
    known = {confirmation_key(one.key): one for one in others}
    best, first = known[confirming[0].key], confirming[0]
    tries: dict[int, dict[int, Tries]] = {one.pk: {} for one in (best, *confirming)}
    for tally in tally_by_case(run, tries):
        tries[tally.candidate_id][tally.case_id] = tally
    counts_failures = kind_of(run).counts_failures
    found = Confirmation(
        key=best.key,
        name=best.name,
        chosen_by=estimate_of(tries[best.pk].values(), best.value_square_sum, counts_failures),
        held_out=estimate_of(tries[first.pk].values(), first.value_square_sum, counts_failures),
        cases=cases,
        done=first.done,
        planned=planned,
    )
    if len(confirming) == 1:
        return found
    second = confirming[1]
    estimate = estimate_of(tries[second.pk].values(), second.value_square_sum, counts_failures)
    versus = versus_rival(tries[first.pk], tries[second.pk])
    return found._replace(rival=Rival(known[second.key].name, estimate, versus))


def versus_rival(best: Mapping[Any, Tries], rival: Mapping[Any, Tries]) -> Separation:
    """Case by case, over those that have a score of both."""
    means = [
        {case: one.total / one.n for case, one in tries.items() if one.n} for tries in (best, rival)
    ]
    return separate(means[0], {0: means[1]})[0]


def estimate_of(tries: Iterable[Tries], squares: float, counts_failures: bool) -> Estimate | None:
    """`counts_failures`: as wrong, of a kind whose choice does so."""
    found: list[Any] = [
        Sums(each.done, each.total, each.passes, each.done) if counts_failures else each
        for each in tries
    ]
    scored = [each for each in found if each.n]
    return estimate_clustered(clusters_of(scored, squares)) if scored else None


def add_up(scores: Iterable[tuple[int, float | None]]) -> tuple[dict[int, Sums], float]:
    """By case, and the sum of squares, of scores in memory."""
    by_case: dict[int, Sums] = {}
    squares = 0.0
    for case, value in scores:
        by_case[case] = by_case.get(case, NOTHING_YET).plus(value, None)
        squares += (value or 0.0) ** 2
    return by_case, squares
