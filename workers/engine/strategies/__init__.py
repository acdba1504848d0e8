"""Strategies: which trials to run next, given what became of the earlier ones.

To add one that chooses among candidates: write a file here with a class like BruteForce and add a
line to SELECTIONS.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from workers.engine.named import Chosen, Registry
from workers.engine.named.registry import subclass_of
from workers.engine.records import Candidate, Score, Trial
from workers.engine.strategies.arm_elimination import ArmElimination
from workers.engine.strategies.bayesian import Bayesian
from workers.engine.strategies.brute_force import BruteForce
from workers.engine.strategies.epsilon_lucb import EpsilonLucb
from workers.engine.strategies.grid import Grid
from workers.engine.strategies.hill_climbing import HillClimbing
from workers.engine.strategies.matrix_ucb import MatrixUcb
from workers.engine.strategies.options import Objective
from workers.engine.strategies.paired_elimination import PairedElimination
from workers.engine.strategies.random_search import RandomSearch
from workers.engine.strategies.rounds import Rounds
from workers.engine.strategies.threshold import Threshold

__all__ = [
    "SELECTIONS",
    "Grid",
    "Rounds",
    "Strategy",
    "build_selection",
    "check_objective",
    "problem_with_selection",
]


class Strategy(Protocol):
    """A function of configuration, seed and ordered history. Never waits, never calls a model."""

    @property
    def learns(self) -> bool:
        """Whether it wants to be told scores at all."""
        ...

    @property
    def hears(self) -> frozenset[str]:
        """What it is told of a score besides value, error, latency and price: ANSWER, CASE,
        RECORD. A replay reads it from the stored scores, so it is read only where it is used."""
        ...

    @property
    def listens(self) -> bool:
        """Whether its next trials depend on scores that it was not told yet. If so, nothing is
        asked ahead."""
        ...

    @property
    def candidates(self) -> Sequence[Candidate]:
        """All so far, in the order of their birth: those it began with, then those that `ask`
        made. Their keys are digests, so that a replay makes the same ones."""
        ...

    @property
    def planned(self) -> int | None:
        """How many trials of all roles there will be, if that is known."""
        ...

    @property
    def best(self) -> int | None:
        """The place of the candidate that it chooses by what is known now, if it is to choose."""
        ...

    def ask(self, limit: int) -> list[Trial]:
        """The next trials, at most `limit`; the limit must not change their order."""
        ...

    def tell(self, scores: Sequence[Score]) -> None:
        """Learn from scores, given in the order of their trials."""
        ...


SELECTIONS: Registry[Rounds[Any]] = Registry(
    "strategy",
    {
        "arm_elimination": ArmElimination,
        "paired_elimination": PairedElimination,
        "brute_force": BruteForce,
        "random_search": RandomSearch,
        "hill_climbing": HillClimbing,
        "threshold": Threshold,
        "epsilon_lucb": EpsilonLucb,
        "bayesian": Bayesian,
        "matrix_ucb": MatrixUcb,
    },
    adopt=subclass_of(Rounds),
    example="{name: threshold, threshold: 0.8}",
    recommended="paired_elimination",
)


def check_objective(name: str, objective: Objective) -> None:
    """ValueError where a strategy looks for one winner only, and a front is wanted."""
    if not objective.is_pareto or SELECTIONS[name].keeps_front:
        return
    able = [known for known, strategy in SELECTIONS.items() if strategy.keeps_front]
    raise ValueError(
        f"The strategy {name} looks for the best by one number and cannot keep a front. "
        f"For the mode pareto choose one of: {', '.join(able)}."
    )


def problem_with_selection(name: str, options: Mapping[str, Any], candidates: int) -> str:
    """Why it cannot choose among so many: no such plug-in, or too much to plan. Empty: it can."""
    try:
        chosen: Chosen[Rounds[Any]] = SELECTIONS.choose(name, options)
    except ValueError as error:
        return str(error)
    return chosen.thing.too_many(candidates, chosen.options)


def build_selection(
    name: str,
    candidates: Sequence[Candidate],
    cases: int,
    *,
    repeats: int = 1,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    objective: Objective | None = None,
    by_candidate: bool = False,
) -> Rounds[Any]:
    """A strategy at its beginning. With `by_candidate` a round goes candidate by candidate instead
    of case by case; what is decided is the same."""
    chosen: Chosen[Rounds[Any]] = SELECTIONS.choose(name, options or {})
    check_objective(name, objective or Objective())
    given = (candidates, cases, repeats, seed, chosen.options, objective)
    return chosen.thing(*given, by_candidate=by_candidate)
