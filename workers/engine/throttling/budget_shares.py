"""What a budget lets the permits of a run hand out in all."""

from workers.engine.calling.prices import NANOS
from workers.engine.spec.configuration import Budget
from workers.engine.throttling.permits import Allowance


def allowance_of(budget: Budget, calls_used: int = 0, dollars_used: float = 0) -> Allowance | None:
    """Calls and dollars. Seconds need no permits: time passes by itself."""
    if budget.calls is None and budget.dollars is None:
        return None
    return Allowance(
        calls=budget.calls,
        calls_used=calls_used,
        nanos=None if budget.dollars is None else round(budget.dollars * NANOS),
        nanos_used=round(dollars_used * NANOS),
    )
