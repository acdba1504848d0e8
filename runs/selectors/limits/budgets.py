"""How much of a run's budget is used: calls that were sent, dollars, and seconds that it ran."""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from runs import formatting
from runs.models import Run, RunState
from runs.selectors.limits.limits import decides
from runs.selectors.runs.planned import planned_text
from workers.engine.spec.configuration import Budget
from workers.engine.throttling.retuning import change_budget

WARN_SHARE = 0.8


class BudgetLine(NamedTuple):
    """One budget that is set, and what is used of it."""

    name: str
    used: float
    total: float

    @property
    def share(self) -> float:
        return self.used / self.total

    @property
    def is_used_up(self) -> bool:
        return self.used >= self.total

    @property
    def text(self) -> str:
        """80 of 100 calls, $0.80 of $1.00, 48 s of 1m 00s."""
        if self.name == "calls":
            return f"{self.used:,.0f} of {amount_text(self.name, self.total)}"
        return f"{amount_text(self.name, self.used)} of {amount_text(self.name, self.total)}"


def amount_text(name: str, amount: float) -> str:
    if name == "dollars":
        return formatting.dollars(amount)
    if name == "seconds":
        return formatting.duration(amount)
    return f"{amount:,.0f} call{'' if amount == 1 else 's'}"


def budget_of(run: Run) -> Budget:
    """What holds now. Reads no more of the document: it is asked for with every write."""
    launched = Budget.model_validate(run.document.get("budget") or {})
    return change_budget(launched, run.limits_now)


def read_budget(run: Run, now: datetime) -> list[BudgetLine]:
    used = {"dollars": run.cost, "calls": run.calls_sent, "seconds": run.running_seconds(now)}
    return [BudgetLine(name, used[name], total) for name, total in budget_of(run) if total]


def spent_lines(run: Run, now: datetime) -> list[BudgetLine]:
    """The budgets that keep a run from going on: used up, or not raised since one stopped it."""
    return [
        line
        for line in read_budget(run, now)
        if line.is_used_up or line.total <= run.spent_budgets.get(line.name, 0)
    ]


def spent_text(line: BudgetLine) -> str:
    return f"The budget of {amount_text(line.name, line.total)} is used up"


class Raise(NamedTuple):
    """A budget that keeps a run from going on, and what it might be raised to."""

    name: str
    proposal: str  # as a person would type it
    needed: str  # what all that is left would take; empty where nobody can tell


def raises_of(run: Run, now: datetime) -> list[Raise]:
    """For the notice of a run that waits for more budget; empty for every other one."""
    if run.state not in RunState.held():
        return []
    return [raise_of(run, line) for line in spent_lines(run, now)]


def raise_of(run: Run, line: BudgetLine) -> Raise:
    """Twice the budget, or what the rest needs if that is less."""
    double, needed = 2 * max(line.total, line.used), needed_in_all(run, line)
    if needed is None:
        return Raise(line.name, proposal_text(line.name, double), "")
    left = run.planned - run.done
    trials = "1 trial is" if left == 1 else f"{left:,} trials are"
    amount = amount_text(line.name, rounded_up(line.name, needed))
    told = f"Finishing takes about {amount} in all; {trials} left."
    return Raise(line.name, proposal_text(line.name, min(double, needed)), told)


def needed_in_all(run: Run, line: BudgetLine) -> float | None:
    """If the trials left take as much as those before, and a tenth more. A choice ends when it is
    decided, so nobody knows what it takes."""
    if not run.done or not line.used or decides(run):
        return None
    return 1.1 * max(line.total, line.used * run.planned / run.done)


def proposal_text(name: str, amount: float) -> str:
    return formatting.plain_number(rounded_up(name, amount))


def rounded_up(name: str, amount: float) -> float:
    """To two digits that count, calls to whole ones: a proposal need not be exact."""
    unit = 10.0 ** (math.floor(math.log10(amount)) - 1)
    if name == "calls":
        unit = max(unit, 1.0)
    return math.ceil(amount / unit - 1e-9) * unit


def budget_frame(lines: Sequence[BudgetLine]) -> dict[str, dict[str, Any]]:
    """Part of a snapshot: a bar for each budget that is set."""
    return {
        line.name: {
            "text": line.text,
            "percent": round(100 * min(1.0, line.share), 1),
            "is_near": line.share >= WARN_SHARE,
        }
        for line in lines
    }


def notice_text(run: Run, lines: Sequence[BudgetLine]) -> str:
    """What a person should know before all numbers: why it is paused, or will be soon."""
    if run.is_finished:
        return ""
    if run.state in RunState.held():
        word = "Pausing. " if run.state == RunState.PAUSING else ""
        stored = f"{run.done:,} of {planned_text(run)} are stored"
        return f"{word}{run.reason.rstrip('.')}. {stored}."
    near = [line.text for line in lines if line.share >= WARN_SHARE]
    if not near:
        return ""
    return f"The budget is nearly used: {', '.join(near)}. The run pauses when it is used up."
