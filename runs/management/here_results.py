"""What a run of this process became: its outcome, its candidates, its scores, as of stored runs."""

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from runs.kinds import kind_named
from runs.kinds.base import Findings, RunHere
from runs.management.here_runs import HereRun, mean_of, standing_of
from runs.management.voices import Standing
from runs.reports.report import CandidateLine
from runs.selectors.limits.limits import slots_now
from runs.selectors.runs.compare import Side, scorers_of
from runs.selectors.runs.outcome import score_found
from runs.selectors.runs.trial_roles import RoleLine
from runs.selectors.scores.columns import CARRIED, ScoreLine, row_of, score_line
from runs.services.chunks.judge_totals import count_judging
from runs.services.chunks.totals import RoleCounts
from workers.engine.records import EVALUATE, JUDGE, Score
from workers.engine.statistics.comparing import Result
from workers.engine.statistics.gates import Ending, Outcome
from workers.engine.statistics.intervals import add_to_bins, percentile


def find(run: HereRun) -> Findings | None:
    kind = kind_named(run.configuration.kind)
    slots = slots_now(run.configuration, run.endpoints)
    here = RunHere(run.configuration, len(run.cases), run.scores, run.seconds, slots)
    return kind.find_here(here)


def outcome_of(run: HereRun, found: Findings | None = None) -> Outcome:
    standing = standing_of(run)
    ending: Ending = run.stopped.by if run.stopped else "finished"
    return Outcome(
        ending=ending,
        reason=run.stopped.reason if run.stopped else "",
        planned=standing.planned,
        done=standing.done,
        failed=standing.failed,
        **(score_found(found) if found else mean_score(run, standing)),
        cost=standing.cost,
        unpriced=standing.unpriced,
    )


def mean_score(run: HereRun, standing: Standing) -> dict[str, Any]:
    values = [score.value for score in run.evaluations if score.value is not None]
    return {
        "score": mean_of(run.evaluations),
        "value_failures_wrong": sum(values) / standing.done if standing.done else None,
    }


def role_lines(run: HereRun) -> dict[str, RoleLine]:
    """As of a stored run: empty where all trials evaluate."""
    found = {role: role_line(scores) for role, scores in run.scores_by_role().items()}
    if judged := [count_judging(score.judging).counts for score in run.scores if score.judging]:
        sums = {name: sum(getattr(one, name) for one in judged) for name in RoleCounts._fields}
        found[JUDGE] = RoleLine(**sums)
    return found if found.keys() - {EVALUATE} else {}


def role_line(scores: Sequence[Score]) -> RoleLine:
    return RoleLine(
        done=len(scores),
        failed=sum(bool(score.error) for score in scores),
        sent=sum(score.calls_sent for score in scores),
        cached=sum(score.cached and not score.error for score in scores),
        cost=sum(score.cost or 0.0 for score in scores),
        tokens_in=sum(score.tokens_in or 0 for score in scores),
        tokens_out=sum(score.tokens_out or 0 for score in scores),
    )


def evaluated_names(run: HereRun) -> dict[str, str]:
    return {c.key: c.name for c in run.candidates if c.role == EVALUATE}


def candidate_lines(run: HereRun) -> list[CandidateLine]:
    """In the order of the run's page: the best first, and a tie goes to fewer failures."""
    names = evaluated_names(run)
    by_candidate: dict[str, list[Score]] = {key: [] for key in names}
    for score in run.evaluations:
        by_candidate[score.trial.candidate].append(score)
    lines = [line_of(names[key], scores) for key, scores in by_candidate.items()]
    return sorted(lines, key=lambda line: (line.score is None, -mean(line), line.failed))


def mean(line: CandidateLine) -> float:
    return line.score.value if line.score else 0.0


def line_of(name: str, scores: Sequence[Score]) -> CandidateLine:
    answered = [score for score in scores if score.value is not None]
    bins: dict[str, int] = {}
    for score in answered:
        if score.latency_ms is not None:
            add_to_bins(bins, score.latency_ms)
    costs = [score.full_cost for score in answered if score.full_cost is not None]
    is_known = bool(costs) and len(costs) == len(answered)
    return CandidateLine(
        name=name,
        score=mean_of(scores),
        failed=len(scores) - len(answered),
        latency_p50=percentile(bins, 0.5),
        cost_per_thousand=1000 * sum(costs) / len(costs) if is_known else None,
    )


def side_of(run: HereRun) -> Side:
    """Of a kind that chooses only what it chose, as with stored runs."""
    names = evaluated_names(run)
    if found := find(run):
        names = {key: name for key, name in names.items() if key == found.best}
    return Side(
        run_id=None,
        name=run.configuration.name,
        dataset=run.dataset,
        digest=run.digest,
        scorers=scorers_of(run.configuration),
        expected=run.configuration.expected_column,
        candidates=names,
        cases={case.position: case.fields for case in run.cases},
        results=[
            Result(s.trial.candidate, run.cases[s.trial.case].position, s.trial.repeat, s.value,
                   s.passed, s.trial.position)
            for s in run.scores
            if s.trial.candidate in names
        ],
        is_complete=not run.stopped,
    )  # fmt: skip


def read_lines(run: HereRun, *, with_records: bool = False) -> Iterator[ScoreLine]:
    """As those of a stored run."""
    candidates = {candidate.key: candidate for candidate in run.candidates}
    for score in run.scores:
        case, candidate = run.cases[score.trial.case], candidates[score.trial.candidate]
        trial = score.trial._replace(case=case.position)
        carried = [getattr(score, name) for name in CARRIED]
        line = score_line(
            row_of(trial, carried, candidate.role, score.error, score.message, score.attempts),
            candidate_name=candidate.name,
            fields=case.fields,
            expected=case.expected,
            judgements=score.judgements,
        )
        if with_records:
            line["record"] = None if score.record is None else orjson.loads(score.record)
        yield line
