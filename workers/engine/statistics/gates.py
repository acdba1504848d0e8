"""Decides whether a run passes: what was asked of it, what became of it, and the exit code."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, NamedTuple

from workers.engine.errors import EngineError
from workers.engine.statistics.comparing import Comparison
from workers.engine.statistics.intervals import Estimate

Ending = Literal["finished", "budget", "errors", "cancelled", "failed"]
DEFAULT_ALPHA = 0.05
DEFAULT_ERROR_RATE = 0.05  # an outage must not pass
LEAST_SHARED = 0.5  # of the trials that both runs made, with fewer answers a fall stays unseen
FINISHED = "finished"


class Exit(IntEnum):
    """The exit codes of the commands."""

    PASSED = 0
    OUR_FAULT = 1
    BAD_INPUT = 2
    TOO_MANY_ERRORS = 3
    BUDGET_STOP = 4
    GATE_FAILED = 100


WORST_FIRST = (Exit.OUR_FAULT, Exit.BUDGET_STOP, Exit.TOO_MANY_ERRORS, Exit.GATE_FAILED)


class GateError(EngineError):
    """Gates that cannot be kept to. Says which are allowed."""


@dataclass(frozen=True)
class Gates:
    """What is asked of a run; None: nothing."""

    min_score: float | None = None
    max_error_rate: float | None = None  # None: DEFAULT_ERROR_RATE
    max_cost: float | None = None
    max_regressions: int | None = None
    alpha: float | None = None  # with a baseline: how unlikely by chance a fall must be
    score_of: str | None = None  # the candidate that is judged; None: that of the best

    def check(self, *, has_baseline: bool) -> None:
        """GateError when they contradict each other or ask for the impossible."""
        if self.max_error_rate is not None and not 0 <= self.max_error_rate <= 1:
            raise GateError("--max-error-rate is a share of the trials: give 0 to 1, as in 0.05.")
        if self.alpha is not None and not 0 < self.alpha < 1:
            raise GateError("--alpha is a probability: give a number between 0 and 1, as in 0.05.")
        if self.score_of and self.min_score is None:
            raise GateError("--score-of says whose score is judged: add --min-score.")
        if not has_baseline and (self.alpha is not None or self.max_regressions is not None):
            raise GateError("--alpha and --max-regressions compare with a run: add --baseline RUN.")
        least = (self.max_cost, self.max_regressions)
        if any(number is not None and number < 0 for number in least):
            raise GateError("--max-cost and --max-regressions are 0 or more.")


@dataclass(frozen=True)
class Outcome:
    """What became of a run."""

    ending: Ending
    reason: str
    planned: int
    done: int
    failed: int
    score: Estimate | None
    value_failures_wrong: float | None  # None: a failure is not worth nothing, as of rewards
    cost: float = 0.0
    unpriced: int = 0  # answers of unknown price
    candidate: str = ""  # whose score it is; empty: of the only one, or of what the run is for


class Check(NamedTuple):
    """One thing that was asked, and whether it holds."""

    name: str
    passed: bool
    told: str
    exit: Exit = Exit.GATE_FAILED


def judge(
    gates: Gates, outcome: Outcome, comparison: Comparison | None = None, held_out: str = ""
) -> list[Check]:
    """Everything that was asked, in the order in which people read it. `held_out` says how the best
    did on cases that it was not chosen by: no gate, but told where a score is judged."""
    checks = [judge_ending(outcome), judge_errors(gates.max_error_rate, outcome)]
    if gates.min_score is not None:
        checks.append(telling(judge_score(gates.min_score, outcome), held_out))
    if comparison is not None:
        found = judge_baseline(gates.alpha or DEFAULT_ALPHA, comparison)
        checks.append(telling(found, held_out))
    if comparison is not None and gates.max_regressions is not None:
        checks.append(judge_regressions(gates.max_regressions, comparison))
    if gates.max_cost is not None:
        checks.append(judge_cost(gates.max_cost, outcome))
    return checks


def telling(check: Check, held_out: str) -> Check:
    return check._replace(told=f"{check.told} {held_out}") if held_out else check


def exit_of(checks: Sequence[Check]) -> Exit:
    """The worst of what failed: a run that was stopped says nothing about quality."""
    failed = {check.exit for check in checks if not check.passed}
    return next((code for code in WORST_FIRST if code in failed), Exit.PASSED)


def judge_ending(outcome: Outcome) -> Check:
    exits = {"budget": Exit.BUDGET_STOP, "errors": Exit.TOO_MANY_ERRORS}
    told = f"{outcome.done:,} of {outcome.planned:,} trials are done."
    if outcome.ending == "finished":
        return Check(FINISHED, True, told)
    exit = exits.get(outcome.ending, Exit.OUR_FAULT)
    return Check(FINISHED, False, f"{told} {outcome.reason}".strip(), exit)


def judge_errors(most: float | None, outcome: Outcome) -> Check:
    share = outcome.failed / outcome.done if outcome.done else 0.0
    told = f"{outcome.failed:,} of {outcome.done:,} trials failed ({100 * share:.1f} %)"
    if outcome.done and not outcome.done - outcome.failed:
        return Check("errors", False, f"{told}: nothing was scored.", Exit.TOO_MANY_ERRORS)
    most = DEFAULT_ERROR_RATE if most is None else most
    told = f"{told}; at most {100 * most:.1f} % allowed."
    return Check("errors", share <= most, told, Exit.TOO_MANY_ERRORS)


def judge_score(least: float, outcome: Outcome) -> Check:
    """Failed trials count as wrong here: failing must never help to pass."""
    whose = f" of “{outcome.candidate}”" if outcome.candidate else ""
    if outcome.score is None:
        return Check("score", False, f"No trial{whose} was scored; {least:g} was asked for.")
    value, failures = outcome.score.value, ""
    if outcome.value_failures_wrong is not None:
        value = outcome.value_failures_wrong
        failures = ", failed trials counted as wrong" if outcome.failed else ""
    low, high = outcome.score.low, outcome.score.high
    told = (
        f"Score{whose} {value:.4f}{failures} (95 % interval {low:.3f} to {high:.3f}); "
        f"{least:g} was asked for."
    )
    return Check("score", value >= least, told)


def judge_baseline(alpha: float, comparison: Comparison) -> Check:
    found = comparison.overall
    if found is None:
        return Check("baseline", False, "No trial has a scored counterpart in the baseline.")
    made = comparison.pairs + comparison.failed_before + comparison.failed_after
    if comparison.pairs < LEAST_SHARED * made:
        told = f"Only {comparison.pairs:,} of {made:,} trials were answered in both runs"
        return Check("baseline", False, f"{told}, too few to compare. Retry those that failed.")
    is_worse = found.mean < 0 and found.p < alpha
    verdict = "significantly worse" if is_worse else "not significantly worse"
    return Check("baseline", not is_worse, f"{found.text}: {verdict} at alpha {alpha:g}.")


def judge_regressions(most: int, comparison: Comparison) -> Check:
    """A trial that fails now is one, too: nobody knows that it would still pass."""
    count, lost = comparison.regressions + comparison.lost, comparison.lost
    of = comparison.pairs + comparison.failed_after
    told = f"{count:,} of {of:,} trials passed in the baseline and do not any more"
    failed = f", {lost:,} of them because they failed" if lost else ""
    return Check("regressions", count <= most, f"{told}{failed}; at most {most:,} allowed.")


def judge_cost(most: float, outcome: Outcome) -> Check:
    told = f"It cost ${outcome.cost:.4f}; ${most:g} was allowed"
    if outcome.unpriced:
        unknown = f"and {outcome.unpriced:,} answers have no price. Enter it under Endpoints."
        return Check("cost", False, f"{told}, {unknown}")
    return Check("cost", outcome.cost <= most, f"{told}.")
