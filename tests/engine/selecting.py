"""Plays strategies that choose among candidates against made-up scores, without any calls."""

from collections.abc import Callable
from random import Random
from typing import Any

from workers.engine.records import Score, Trial
from workers.engine.session import Session
from workers.engine.statistics.matrices import Matrix
from workers.engine.strategies import Rounds, build_selection
from workers.engine.strategies.board import Board
from workers.engine.strategies.options import Objective

Outcome = Callable[[Trial], Score]
MODELS = ("small", "medium", "large")


def make_matrix(
    accuracies: list[float], datapoints: int = 40, failed: float = 0.0, seed: int = 1
) -> Matrix:
    """Answers that are right as often as asked for, on items that are equally hard for all."""
    random = Random(seed)
    hardness = [random.random() for _ in range(datapoints)]

    def cell(accuracy: float, hard: float) -> float | None:
        if random.random() < failed:
            return None
        return float(0.7 * hard + 0.3 * random.random() < accuracy)

    rows = tuple(tuple(cell(accuracy, hard) for hard in hardness) for accuracy in accuracies)
    return Matrix("made", tuple(labels_of(len(accuracies))), rows)


def labels_of(count: int) -> list[str]:
    pairs = [f"planner={one} + solver={other}" for one in MODELS for other in MODELS]
    return pairs if count == len(pairs) else [f"agent={number}" for number in range(count)]


def of_matrix(matrix: Matrix) -> Outcome:
    def outcome(trial: Trial) -> Score:
        value = matrix.scores[int(trial.candidate)][trial.case]
        error = "refused" if value is None else ""
        return Score(trial, value=value, error=error, latency_ms=None if error else 10.0)

    return outcome


def select(name: str, matrix: Matrix, seed: int = 3, **options: Any) -> Rounds[Any]:
    return build_selection(name, matrix.candidates(), matrix.datapoints, seed=seed, options=options)


def play(
    strategy: Rounds[Any], outcome: Outcome, limit: int = 1000, is_backwards: bool = False
) -> list[Trial]:
    """Every trial it asked for, to the end."""
    session = Session(strategy)
    played: list[Trial] = []
    while trials := session.plan(limit):
        scores = [outcome(trial) for trial in trials]
        session.absorb(reversed(scores) if is_backwards else scores)
        played += trials
    assert session.is_finished
    return played


def board_of(*arms: list[Score], objective: Objective | None = None) -> Board:
    board = Board(len(arms), objective or Objective(), "wrong")
    for arm, scores in enumerate(arms):
        for score in scores:
            board.add(arm, score)
    board.settle()
    return board


def scored(value: float | None, latency_ms: float = 10.0, cost: float | None = 0.1) -> Score:
    trial = Trial(0, "", 0, 0)
    if value is None:
        return Score(trial, error="refused")
    return Score(trial, value=value, latency_ms=latency_ms, full_cost=cost)
