"""How many trials a run has, and how it would share its calls at once between them."""

from collections.abc import Mapping

from runs.kinds import kind_named
from runs.models import Endpoint
from runs.selectors.limits.limits import slots_now
from workers.engine.chunks import SlotPlan
from workers.engine.schedule import plan_slots
from workers.engine.spec.configuration import Configuration


def slots_of(
    configuration: Configuration, cases: int, endpoints: Mapping[str, Endpoint]
) -> SlotPlan:
    return plan_slots(configuration, cases, slots_now(configuration, endpoints))


def slots_text(configuration: Configuration, plan: SlotPlan) -> str:
    """As in `8 calls at once: 4 candidates × 2 cases.`"""
    wanted = configuration.limits.max_concurrent
    limit = ""
    if wanted is None:
        limit = ", as the endpoints allow"
    elif plan.slots != wanted:
        limit = f" (the endpoints allow no more of the {wanted:,})"
    split = product(configuration, *plan.split)
    lent = f", and {plan.lent:,} more" if plan.lent else ""
    why = kind_named(configuration.kind).why_unused(configuration)
    unused = f"; {plan.empty:,} stay unused: {why}" if plan.empty else ""
    return f"{counted(plan.slots, 'call')} at once{limit}: {split}{lent}{unused}."


def product_text(configuration: Configuration, cases: int, rows: int) -> str:
    """As in `2 candidates × 3 cases (of 1,319) × 2 repeats`."""
    text = product(configuration, configuration.candidates, cases)
    text += f" (of {rows:,})" if cases < rows else ""
    return text if configuration.repeats == 1 else f"{text} × {configuration.repeats:,} repeats"


def product(configuration: Configuration, candidates: int, cases: int) -> str:
    what = kind_named(configuration.kind).candidate_word
    return f"{counted(candidates, what)} × {counted(cases, 'case')}"


def counted(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
