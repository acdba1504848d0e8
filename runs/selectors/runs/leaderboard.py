"""Candidates in the order of their scores, each with its uncertainty and its failures."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from runs import formatting
from runs.models import Candidate, Run
from runs.selectors.limits.limits import trials_each
from runs.selectors.runs.board_figures import estimate_now, figures_of
from runs.selectors.runs.costs import cost_per_thousand
from runs.selectors.scores.overrides import Changed, changes_by_candidate
from workers.engine.kinds import KINDS, read_configuration
from workers.engine.records import EVALUATE
from workers.engine.statistics.boards import Board, Figures, Interval
from workers.engine.statistics.intervals import percentile
from workers.engine.statistics.paired import Difference
from workers.engine.statistics.repeats import RepeatFigures, figures_of_groups
from workers.engine.statistics.separating import Separation

WILSON, STUDENT = "wilson", "student"  # whose interval it is: of shares, of other values


class VersusBest(NamedTuple):
    """A candidate beside the best, case by case on the cases that both have a score for."""

    difference: Difference  # its own score less that of the best
    p: float  # of "there is none", corrected for the number of candidates
    is_separable: bool  # it is worse beyond chance
    more_cases: int | None  # about so many would separate them; None: it cannot be said

    @classmethod
    def of(cls, found: Separation | None) -> "VersusBest | None":
        if found is None or found.difference is None:
            return None
        return cls(turned(found.difference), found.p, found.is_behind, found.more_cases)

    @property
    def text(self) -> str:
        """Why it is not separable, for a person."""
        cases = formatting.counted(self.difference.cases, "case")
        told = (
            f"On the same {cases} it is not worse than the best beyond chance "
            f"(p = {self.p:.2g}, corrected for many candidates)"
        )
        if self.more_cases is None:
            return f"{told}."
        return f"{told}; about {formatting.about(self.more_cases)} more cases would separate them."

    def as_record(self) -> dict[str, Any]:
        """Plain values, for JSON; a bound that is not known is null."""
        difference = self.difference
        known = {
            name: bound if math.isfinite(bound) else None
            for name, bound in (("low", difference.low), ("high", difference.high))
        }
        return {
            **difference._asdict(),
            **known,
            "p_corrected": self.p,
            "separable": self.is_separable,
            "more_cases": self.more_cases,
        }


@dataclass(frozen=True)
class LeaderboardRow:
    rank: int | None
    candidate_id: int
    position: int
    key: str
    role: str
    name: str
    prompt_name: str
    model: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    planned: int
    failed: int
    failed_share: float
    value_failures_wrong: float | None
    value_failures_right: float | None
    cached: int
    latency_p50: float | None
    latency_p95: float | None
    tokens_in: int | None  # None: the provider does not count them
    tokens_out: int | None
    cost_per_thousand: float | None  # dollars; None: unknown
    leads: bool  # the best, and separable from the one after it
    separable: bool  # worse than the best beyond chance, on the cases that both have
    comparable: bool  # with the best: no trial of either failed, so both saw the same cases
    interval: str = WILSON
    bootstrap: Interval | None = None  # of values that are no shares
    cases: int = 0  # that it has reached
    compared_value: float | None = None  # on the cases that all have reached; None: it saw too few
    compared_cases: int = 0
    is_uneven: bool = False  # some have reached more cases than others
    versus_best: VersusBest | None = None
    repeats: RepeatFigures | None = None
    changed: int = 0  # trials of which people said another value
    changed_value: float | None = None  # with their values

    @property
    def is_too_early(self) -> bool:
        """It has a score, and too few cases to be compared."""
        return self.n > 0 and self.compared_value is None


def leaderboard(run: Run, k: int | None = None) -> list[LeaderboardRow]:
    """Best first. A candidate without a score has no rank: failures are neither zero nor best.
    `k`: of how many repeats at least one, or each, is right; all of them if it is not given."""
    candidates = list(run.candidates.filter(role=EVALUATE))
    if not candidates:
        return []
    board, planned = figures_of(run), trials_each(run)
    k = k or read_configuration(run.document).repeats
    ordered = in_order(board, candidates)
    rows = [
        with_figures(row_of(run, place, candidate, board, planned, ordered[0].failed), board, k)
        for place, candidate in enumerate(ordered, start=1)
    ]
    is_clear = len(rows) > 1 and rows[0].rank and rows[1].separable and rows[1].comparable
    if is_clear and (run.is_finished or not holds_out(run)):
        rows[0] = replace(rows[0], leads=True)
    return with_opinions(run, rows)


def with_opinions(run: Run, rows: list[LeaderboardRow]) -> list[LeaderboardRow]:
    """Scores stay those of the scorers; what people say is shown beside them."""
    found = changes_by_candidate(run)
    if not found:
        return rows
    none = Changed(0, None)
    said = [(row, found.get(row.candidate_id, none)) for row in rows]
    return [replace(row, changed=one.trials, changed_value=one.value) for row, one in said]


def holds_out(run: Run) -> bool:
    """Then nobody is called the best before the end: it is scored on held-out cases first."""
    return run.document.get("held_out") is not None


def in_order(board: Board[int], candidates: Iterable[Candidate]) -> list[Candidate]:
    """The best first; those that were born since come last."""
    places = {pk: place for place, pk in enumerate(board.order)}
    return sorted(candidates, key=lambda one: (places.get(one.pk, len(places)), one.position))


def told_only(run: Run, role: str) -> list[LeaderboardRow]:
    """The candidates of another role, in the order of their birth, without a rank. Only the best,
    when it is confirmed, has a score: what became of the others is told to the strategy."""
    nothing: Board[int] = Board([], {}, 0, True)
    return [
        row_of(run, 0, candidate, nothing, planned=max(1, candidate.done), best_failed=0)
        for candidate in run.candidates.filter(role=role)
    ]


def with_figures(row: LeaderboardRow, board: Board[int], k: int) -> LeaderboardRow:
    figures = board.figures.get(row.candidate_id)
    if figures is None:
        return row
    versus_best = VersusBest.of(figures.separation)
    return replace(
        row,
        interval=WILSON if figures.is_share else STUDENT,
        bootstrap=figures.bootstrap,
        cases=figures.reached,
        compared_value=figures.compared,
        compared_cases=board.common,
        is_uneven=not board.is_even,
        separable=bool(versus_best and versus_best.is_separable),
        versus_best=versus_best,
        repeats=figures_of_groups(k, figures.repeats),
    )


def turned(difference: Difference) -> Difference:
    """Seen from the candidate: below zero where it is worse than the best."""
    mean, low, high = -difference.mean, -difference.high, -difference.low
    return difference._replace(mean=mean + 0.0, low=low + 0.0, high=high + 0.0)  # never -0.0


def wrong_value(candidate: Candidate) -> float | None:
    """Its score if failures count as wrong."""
    is_scored = candidate.done and candidate.is_judged
    return candidate.value_sum / candidate.done if is_scored else None


def right_value(candidate: Candidate) -> float | None:
    """What its score may come to when its failed trials are retried. None: it has no upper end."""
    wrong = wrong_value(candidate)
    is_share = wrong is not None and candidate.value_sum <= candidate.scored
    return wrong + candidate.failed / candidate.done if wrong is not None and is_share else None


def model_of(run: Run, candidate: Candidate) -> str:
    """As in the candidate's name: with parameters only if the same model appears twice."""
    document = candidate.document
    if "prompt" in document:
        start = f"{document['prompt']['name']} · "
        if candidate.name.startswith(start):
            return candidate.name.removeprefix(start)
    called = KINDS[run.kind].models_called(document)
    return " → ".join(f"{m['endpoint']}/{m['model']}" for m in called)


def row_of(
    run: Run,
    place: int,
    candidate: Candidate,
    board: Board[int],
    planned: int,
    best_failed: int,
) -> LeaderboardRow:
    figures: Figures | None = board.figures.get(candidate.pk)
    found = estimate_now(candidate, figures) if candidate.is_judged else None
    is_ranked = bool(found and figures and figures.is_ranked)
    document = candidate.document
    return LeaderboardRow(
        rank=place if is_ranked else None,
        candidate_id=candidate.pk,
        position=candidate.position,
        key=candidate.key,
        role=candidate.role,
        name=candidate.name,
        prompt_name=document["prompt"]["name"] if "prompt" in document else candidate.name,
        model=model_of(run, candidate),
        value=found.value if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        n=found.n if found else 0,
        planned=planned,
        failed=candidate.failed,
        failed_share=candidate.failed / candidate.done if candidate.done else 0.0,
        value_failures_wrong=wrong_value(candidate),
        value_failures_right=right_value(candidate),
        cached=candidate.cached,
        latency_p50=percentile(candidate.latency_bins, 0.5),
        latency_p95=percentile(candidate.latency_bins, 0.95),
        tokens_in=candidate.tokens_in or None,  # no prompt has none
        tokens_out=candidate.tokens_out if candidate.tokens_in else None,
        cost_per_thousand=cost_per_thousand(run, candidate),
        leads=False,
        separable=False,
        comparable=place == 1 or not (candidate.failed or best_failed),
    )
