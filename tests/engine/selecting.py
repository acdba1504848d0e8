"""Plays strategies that choose among candidates against made-up scores, without any calls."""

from random import Random

from workers.engine.records import Score
from workers.engine.session import Session
from workers.engine.statistics.matrices import Matrix
from workers.engine.strategies import build_selection

MODELS = ("small", "medium", "large")


def make_matrix(accuracies, datapoints=40, failed=0.0, seed=1):
    """Answers that are right as often as asked for, on items that are equally hard for all."""
    random = Random(seed)
    hardness = [random.random() for _ in range(datapoints)]

    def cell(accuracy, hard):
        if random.random() < failed:
            return None
        return float(0.7 * hard + 0.3 * random.random() < accuracy)

    rows = tuple(tuple(cell(accuracy, hard) for hard in hardness) for accuracy in accuracies)
    return Matrix("made", tuple(labels_of(len(accuracies))), rows)


def labels_of(count):
    pairs = [f"planner={one} + solver={other}" for one in MODELS for other in MODELS]
    return pairs if count == len(pairs) else [f"agent={number}" for number in range(count)]


def of_matrix(matrix):
    def outcome(trial):
        value = matrix.scores[int(trial.candidate)][trial.case]
        error = "refused" if value is None else ""
        return Score(trial, value=value, error=error, latency_ms=None if error else 10.0)

    return outcome


def select(name, matrix, seed=3, **options):
    return build_selection(name, matrix.candidates(), matrix.datapoints, seed=seed, options=options)


def play(strategy, outcome, limit=1000, is_backwards=False):
    """Every trial it asked for, to the end."""
    session = Session(strategy)
    played = []
    while trials := session.plan(limit):
        scores = [outcome(trial) for trial in trials]
        session.absorb(reversed(scores) if is_backwards else scores)
        played += trials
    assert session.is_finished
    return played
