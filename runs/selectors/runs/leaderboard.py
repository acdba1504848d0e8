"""Candidates in the order of their scores, each with its uncertainty and its failures."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from runs.kinds import kind_of
from runs.models import Candidate, Run
from runs.selectors.limits.limits import trials_each
from runs.selectors.runs.costs import cost_per_thousand
from workers.engine.kinds import KINDS
from workers.engine.records import EVALUATE
from workers.engine.statistics.intervals import Estimate, estimate_mean, percentile


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
    cached: int
    latency_p50: float | None
    latency_p95: float | None
    tokens_in: int | None  # None: the provider does not count them
    tokens_out: int | None
    cost_per_thousand: float | None  # dollars; None: unknown
    leads: bool  # the best, and separable from the one after it
    separable: bool  # from the best: their intervals do not overlap
    comparable: bool  # with the best: no trial of either failed, so both saw the same cases


def leaderboard(run: Run) -> list[LeaderboardRow]:
    """Best first. A candidate without a score has no rank: failures are neither zero nor best."""
    candidates = list(run.candidates.filter(role=EVALUATE))
    planned = trials_each(run)
    ordered = kind_of(run).in_order(run, candidates)
    scored = [(estimate_of(candidate), candidate) for candidate in ordered]
    if not scored:
        return []
    best, leader = scored[0]
    rows = [
        row_of(run, place, candidate, found, best, leader, planned)
        for place, (found, candidate) in enumerate(scored, start=1)
    ]
    if len(rows) > 1 and rows[1].separable and rows[1].comparable:
        rows[0] = replace(rows[0], leads=True)
    return rows


def told_only(run: Run, role: str) -> list[LeaderboardRow]:
    """The candidates of another role, in the order of their birth. They have neither score nor
    rank: what became of them is told to the strategy."""
    return [
        row_of(run, 0, candidate, None, None, candidate, planned=1)
        for candidate in run.candidates.filter(role=role)
    ]


def estimate_of(candidate: Candidate) -> Estimate | None:
    return estimate_mean(candidate.scored, candidate.value_sum, candidate.value_square_sum)


def by_score(candidates: Iterable[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=sort_key)


def sort_key(candidate: Candidate) -> tuple[float, float, int]:
    """By value; failures counted as wrong break ties, so that failing can never win one."""
    found = estimate_of(candidate)
    if found is None:
        return (float("inf"), 0.0, candidate.position)
    return (-found.value, -candidate.value_sum / candidate.done, candidate.position)


def wrong_value(candidate: Candidate) -> float | None:
    """Its score if failures count as wrong."""
    is_scored = candidate.done and candidate.is_evaluated
    return candidate.value_sum / candidate.done if is_scored else None


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
    found: Estimate | None,
    best: Estimate | None,
    leader: Candidate,
    planned: int,
) -> LeaderboardRow:
    document = candidate.document
    return LeaderboardRow(
        rank=place if found else None,
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
        cached=candidate.cached,
        latency_p50=percentile(candidate.latency_bins, 0.5),
        latency_p95=percentile(candidate.latency_bins, 0.95),
        tokens_in=candidate.tokens_in or None,  # no prompt has none
        tokens_out=candidate.tokens_out if candidate.tokens_in else None,
        cost_per_thousand=cost_per_thousand(run, candidate),
        leads=False,
        separable=bool(found and best and found.high < best.low),
        comparable=place == 1 or not (candidate.failed or leader.failed),
    )
