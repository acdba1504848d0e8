"""Replays score matrices against strategies: how often the best is found, and at what price.

The best is whoever has the highest accuracy over all datapoints; any of several equals will do. A
failed run counts as wrong, except for arm elimination as published, which leaves it out and is
judged by that. Evaluations are those that gave a score, for all strategies alike and as published
figures count them; those that failed are told beside them.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from workers.engine.records import Score
from workers.engine.session import Session
from workers.engine.statistics.matrices import Matrix
from workers.engine.strategies import SELECTIONS, Rounds, build_selection
from workers.engine.strategies.board import SAME

AT_ONCE = 1000  # trials asked at once; does not matter for what is chosen


class Contestant(NamedTuple):
    """A strategy with the options it is replayed with."""

    strategy: str
    options: Mapping[str, Any]


CONTESTANTS: dict[str, Contestant] = {
    # As published, to be compared with what was published: failures are left out, and who was given
    # up may win. Ours counts failures as wrong and chooses among survivors.
    "arm_elimination": Contestant("arm_elimination", {"failures": "dropped", "winner": "anyone"}),
    "arm_elimination_survivors": Contestant("arm_elimination", {}),
    **{name: Contestant(name, {}) for name in SELECTIONS if name != "arm_elimination"},
}


class Used(NamedTuple):
    """What a replay asked for."""

    evaluations: int  # that gave a score
    failed: int


class Outcome(NamedTuple):
    """One replay."""

    found: bool
    accuracy: float
    used: Used


class Line(NamedTuple):
    """Means over the seeds, for one strategy on one matrix."""

    matrix: str
    strategy: str
    seeds: int
    found: float
    accuracy: float
    evaluations: float
    brute_force_share: float
    failed: float  # evaluations that gave no score, not among the others


def bench(matrix: Matrix, name: str, seeds: Sequence[int]) -> Line:
    contestant = CONTESTANTS[name]
    outcomes = [replay(matrix, contestant, seed) for seed in seeds]
    evaluations = fmean(outcome.used.evaluations for outcome in outcomes)
    return Line(
        matrix.name,
        name,
        len(outcomes),
        fmean(outcome.found for outcome in outcomes),
        fmean(outcome.accuracy for outcome in outcomes),
        evaluations,
        evaluations / max(1, count_scores(matrix)),
        fmean(outcome.used.failed for outcome in outcomes),
    )


def replay(matrix: Matrix, contestant: Contestant, seed: int) -> Outcome:
    """One selection. What it chose is judged by all datapoints, failures counted its own way."""
    strategy = build_selection(
        contestant.strategy,
        matrix.candidates(),
        matrix.datapoints,
        seed=seed,
        options=contestant.options,
    )
    used = play(strategy, matrix)
    accuracies = matrix.accuracies(drops_failures=drops_failures(contestant))
    chosen = strategy.best
    accuracy = 0.0 if chosen is None else accuracies[chosen]
    is_found = chosen is not None and accuracy >= max(accuracies) - SAME
    return Outcome(is_found, accuracy, used)


def play(strategy: Rounds[Any], matrix: Matrix) -> Used:
    """To the end."""
    session = Session(strategy)
    evaluations = failed = 0
    while trials := session.plan(AT_ONCE):
        values = [matrix.scores[int(trial.candidate)][trial.case] for trial in trials]
        evaluations += sum(value is not None for value in values)
        failed += values.count(None)
        session.absorb(
            Score(trial, value=value, error="" if value is not None else "refused")
            for trial, value in zip(trials, values, strict=True)
        )
    return Used(evaluations, failed)


def drops_failures(contestant: Contestant) -> bool:
    return contestant.options.get("failures") == "dropped"


def count_scores(matrix: Matrix) -> int:
    return sum(score is not None for row in matrix.scores for score in row)


def table_of(lines: Iterable[Line]) -> list[str]:
    """For a terminal."""
    title = f"{'matrix':24} {'strategy':26} {'seeds':>5} {'found':>6} {'accuracy':>8}"
    figures = f"{'evaluations':>11} {'of brute':>9} {'failed':>7}"
    rows = [
        f"{line.matrix[:24]:24} {line.strategy:26} {line.seeds:5} {line.found:6.0%} "
        f"{line.accuracy:8.4f} {line.evaluations:11.1f} {line.brute_force_share:9.1%} "
        f"{line.failed:7.1f}"
        for line in lines
    ]
    return [f"{title} {figures}", *rows]
