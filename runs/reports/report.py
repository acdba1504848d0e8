"""What a run became and whether it passed: the record behind every form of report."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from runs import formatting
from runs.reports.plain import one_line
from runs.selectors.comparing.comparison import RunComparison
from runs.selectors.runs.confirmation import Confirmation
from runs.selectors.runs.errors import advice_for
from runs.selectors.runs.leaderboard import VersusBest
from runs.selectors.runs.ran_on import RanOn
from runs.selectors.runs.trial_roles import RoleLine, role_texts
from workers.engine.statistics.gates import FINISHED, Check, Exit, Outcome, exit_of
from workers.engine.statistics.intervals import Estimate
from workers.engine.statistics.repeats import RepeatFigures

if TYPE_CHECKING:
    from runs.kinds.base import Findings

MOST_SHOWN = 10  # of a list, in a report that people read
HEADS = {
    Exit.PASSED: "Passed",
    Exit.OUR_FAULT: "Not finished",
    Exit.TOO_MANY_ERRORS: "Too many errors",
    Exit.BUDGET_STOP: "Stopped by a budget",
}


@dataclass(frozen=True)
class CandidateLine:
    name: str
    score: Estimate | None
    failed: int
    latency_p50: float | None = None  # milliseconds
    cost_per_thousand: float | None = None  # dollars for a thousand answers; None: unknown
    versus_best: VersusBest | None = None  # None: it is the best, or there is nothing to compare
    repeats: RepeatFigures | None = None  # None: every case is asked once

    def as_record(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "score": self.score._asdict() if self.score else None,
            "versus_best": self.versus_best.as_record() if self.versus_best else None,
            "repeats": self.repeats._asdict() if self.repeats else None,
        }


@dataclass(frozen=True)
class Report:
    run_id: int | None  # None: it ran in the process of the command, and is not stored
    name: str
    state: str
    outcome: Outcome
    cached: int
    seconds: float
    checks: Sequence[Check]
    candidates: Sequence[CandidateLine] = ()
    errors: Mapping[str, int] = field(default_factory=dict)  # how many of each class
    roles: Mapping[str, RoleLine] = field(default_factory=dict)  # empty if all trials evaluate
    comparison: RunComparison | None = None
    findings: "Findings | None" = None  # of kinds that find more than scores
    ran_on: RanOn | None = None
    confirmation: Confirmation | None = None  # of the best, where cases were held out

    @property
    def confirmation_text(self) -> str:
        if self.confirmation is None:
            return ""
        return f"{one_line(self.confirmation.name, 200)}: {self.confirmation.text}."

    @property
    def exit(self) -> Exit:
        return exit_of(self.checks)

    @property
    def role_texts(self) -> list[str]:
        return role_texts(self.roles, self.outcome.unpriced)

    @property
    def title(self) -> str:
        number = f" (run {self.run_id})" if self.run_id else ""
        return f"{one_line(self.name)}{number}"

    @property
    def verdict(self) -> str:
        """What a person wants to know first: Passed, or what is to blame."""
        head = HEADS.get(self.exit, "Failed")
        failed = [check.name for check in self.checks if not check.passed]
        named = ", ".join(name for name in failed if name != FINISHED)
        return f"{head}: {named}" if named else head

    @property
    def score_interval(self) -> str:
        score = self.outcome.score
        return formatting.score_interval(score.low, score.high) if score else formatting.NOTHING

    def properties(self) -> dict[str, str]:
        score = self.outcome.score
        known = {
            "run": str(self.run_id or ""),
            "state": self.state,
            "score": f"{score.value:.6f}" if score else "",
            "trials": str(self.outcome.done),
            "failed": str(self.outcome.failed),
            "cached": str(self.cached),
            "cost_dollars": f"{self.outcome.cost:.6f}",
        }
        return {name: value for name, value in known.items() if value}

    def details_of(self, check: Check) -> list[str]:
        if check.name not in ("baseline", "regressions") or self.comparison is None:
            return []
        return [
            f"{trial.before:g} -> {trial.after:g}: {one_line(trial.candidate, 60)}, "
            f"case {trial.case} ({one_line(trial.question)})"
            for trial in self.comparison.falls(MOST_SHOWN)
        ]

    def as_record(self) -> dict[str, Any]:
        """The last line of the command, for programs."""
        outcome, score = self.outcome, self.outcome.score
        compared = self.comparison.as_record(MOST_SHOWN) if self.comparison else None
        return {
            "run_id": self.run_id,
            "name": self.name,
            "state": self.state,
            "reason": outcome.reason,
            "verdict": "passed" if self.exit is Exit.PASSED else "failed",
            "exit_code": int(self.exit),
            "checks": [
                {"name": check.name, "passed": check.passed, "told": check.told}
                for check in self.checks
            ],
            "counts": {
                "planned": outcome.planned,
                "done": outcome.done,
                "failed": outcome.failed,
                "cached": self.cached,
            },
            "score": {**score._asdict(), "value_failures_wrong": outcome.value_failures_wrong}
            if score
            else None,
            "cost": outcome.cost,
            "unpriced": outcome.unpriced,
            "seconds": round(self.seconds, 3),
            "candidates": [line.as_record() for line in self.candidates],
            "roles": {role: line.model_dump() for role, line in self.roles.items()},
            "errors": dict(self.errors),
            "advice": {name: advice_for(name) for name in self.errors},
            "comparison": compared,
            "findings": self.findings.as_record() if self.findings else None,
            "ran_on": self.ran_on.model_dump() if self.ran_on else None,
            "confirmation": self.confirmation.as_facts().model_dump()
            if self.confirmation
            else None,
        }
