"""What a run of this process became: its outcome, its candidates, its scores, as of stored runs."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import orjson

from runs.kinds import kind_named
from runs.kinds.base import Findings, RunHere
from runs.management.here_runs import HereRun, standing_of
from runs.reports.report import CandidateLine
from runs.selectors.comparing.cases import GivenCases
from runs.selectors.comparing.sides import Side, scorers_of
from runs.selectors.limits.limits import slots_now
from runs.selectors.runs.confirmation import Confirmation, Rival, add_up, estimate_of, versus_rival
from runs.selectors.runs.leaderboard import VersusBest
from runs.selectors.runs.outcome import score_found, score_on_board
from runs.selectors.runs.trial_roles import RoleLine, read_line
from runs.selectors.scores.columns import CARRIED, ScoreLine, row_of, score_line
from runs.services.chunks.judge_totals import count_judging
from workers.engine.records import CONFIRM, EVALUATE, JUDGE, Score
from workers.engine.statistics.boards import NOTHING_YET, Board, Figures, Sums, compare_candidates
from workers.engine.statistics.columns import Result, columns_of
from workers.engine.statistics.gates import Ending, Outcome
from workers.engine.statistics.intervals import add_to_bins, percentile
from workers.engine.statistics.repeats import figures_of_groups
from workers.engine.strategies.confirmed import confirmation_key


def find(run: HereRun) -> Findings | None:
    kind = kind_named(run.configuration.kind)
    slots = slots_now(run.configuration, run.endpoints)
    here = RunHere(run.configuration, len(run.cases), run.scores, run.seconds, slots)
    return kind.find_here(here)


def outcome_of(run: HereRun, found: Findings | None = None, named: str = "") -> Outcome:
    standing = standing_of(run)
    ending: Ending = run.stopped.by if run.stopped else "finished"
    return Outcome(
        ending=ending,
        reason=run.stopped.reason if run.stopped else "",
        planned=standing.planned,
        done=standing.done,
        failed=standing.failed,
        **score_of_run(run, found, named),
        cost=standing.cost,
        unpriced=standing.unpriced,
    )


def score_of_run(run: HereRun, found: Findings | None, named: str) -> dict[str, Any]:
    """As of a stored run."""
    chooses = kind_named(run.configuration.kind).chooses
    if found and not named and (found.score or chooses):
        return score_found(found)
    return score_on_board(board_of(run), evaluated_names(run), named)


def role_lines(run: HereRun) -> dict[str, RoleLine]:
    """As of a stored run: empty where all trials evaluate."""
    found = {role: role_line(scores) for role, scores in run.scores_by_role().items()}
    if judged := [count_judging(score.judging) for score in run.scores if score.judging]:
        counts = [one.as_document for one in judged]
        found[JUDGE] = read_line({name: sum(one[name] for one in counts) for name in counts[0]})
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


def confirmation_of(run: HereRun) -> Confirmation | None:
    """As of a stored run."""
    confirming = [one for one in run.candidates if one.role == CONFIRM]
    if not confirming:
        return None
    known = {confirmation_key(one.key): one for one in run.candidates if one.role == EVALUATE}
    best, first = known[confirming[0].key], confirming[0]
    counts_failures = kind_named(run.configuration.kind).counts_failures
    sums = {
        key: add_up((s.trial.case, s.value) for s in run.scores if s.trial.candidate == key)
        for key in (best.key, *(one.key for one in confirming))
    }
    estimates = {
        key: estimate_of(by_case.values(), squares, counts_failures)
        for key, (by_case, squares) in sums.items()
    }
    cases = run.configuration.count_held_out(len(run.cases))
    rival = None
    if len(confirming) > 1:
        second = confirming[1].key
        versus = versus_rival(sums[first.key][0], sums[second][0])
        rival = Rival(known[second].name, estimates[second], versus)
    return Confirmation(
        key=best.key,
        name=best.name,
        chosen_by=estimates[best.key],
        held_out=estimates[first.key],
        cases=cases,
        done=sum(each.done for each in sums[first.key][0].values()),
        planned=cases * run.configuration.repeats,
        rival=rival,
    )


def board_of(run: HereRun) -> Board[str]:
    """Of the candidates that evaluate, as of a stored run."""
    by_candidate: dict[str, dict[Hashable, Sums]] = {key: {} for key in evaluated_names(run)}
    squares = dict.fromkeys(by_candidate, 0.0)
    for score in run.evaluations:
        cases, value = by_candidate[score.trial.candidate], score.value
        seen = cases.get(score.trial.case, NOTHING_YET)
        cases[score.trial.case] = seen.plus(value, score.passed)
        squares[score.trial.candidate] += (value or 0.0) ** 2
    return compare_candidates(by_candidate, squares)


def candidate_lines(run: HereRun) -> list[CandidateLine]:
    """In the order of the run's page."""
    names, board = evaluated_names(run), board_of(run)
    by_candidate: dict[str, list[Score]] = {key: [] for key in names}
    for score in run.evaluations:
        by_candidate[score.trial.candidate].append(score)
    k = run.configuration.repeats
    return [line_of(names[key], by_candidate[key], board.figures[key], k) for key in board.order]


def line_of(name: str, scores: Sequence[Score], figures: Figures, k: int) -> CandidateLine:
    answered = [score for score in scores if score.value is not None]
    bins: dict[str, int] = {}
    for score in answered:
        if score.latency_ms is not None:
            add_to_bins(bins, score.latency_ms)
    costs = [score.full_cost for score in answered if score.full_cost is not None]
    is_known = bool(costs) and len(costs) == len(answered)
    return CandidateLine(
        name=name,
        score=figures.estimate,
        failed=len(scores) - len(answered),
        latency_p50=percentile(bins, 0.5),
        cost_per_thousand=1000 * sum(costs) / len(costs) if is_known else None,
        versus_best=VersusBest.of(figures.separation),
        repeats=figures_of_groups(k, figures.repeats),
    )


def side_of(run: HereRun) -> Side:
    """Of a kind that chooses only what it chose, as with stored runs."""
    names = evaluated_names(run)
    if found := find(run):
        names = {key: name for key, name in names.items() if key == found.best}
    places = {key: place for place, key in enumerate(names)}
    return Side(
        run_id=None,
        candidate=None,
        name=run.configuration.name,
        dataset=run.dataset,
        digest=run.digest,
        scorers=scorers_of(run.configuration),
        expected=run.configuration.expected_column,
        repeats=run.configuration.repeats,
        candidates=names,
        positions=range(len(names)),
        cases=GivenCases({case.position: case.fields for case in run.cases}),
        trials=columns_of(
            result_of(run, score, places[score.trial.candidate])
            for score in run.scores
            if score.trial.candidate in places
        ),
        is_complete=not run.stopped,
        document=run.configuration.model_dump(),
    )


def result_of(run: HereRun, score: Score, place: int) -> Result:
    trial = score.trial
    return Result(
        candidate=place,
        case=run.cases[trial.case].position,
        repeat=trial.repeat,
        value=score.value,
        passed=score.passed,
        position=trial.position,
        cost=score.full_cost,
        latency=score.latency_ms,
    )


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
            judge_cost=score.judging.cost if score.judging else None,
        )
        if with_records:
            line["record"] = None if score.record is None else orjson.loads(score.record)
        yield line
