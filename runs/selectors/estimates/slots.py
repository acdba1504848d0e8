"""How many trials a run has, and how it would share its calls at once between them."""

from collections.abc import Mapping

from runs.formatting import counted
from runs.kinds import kind_named
from runs.models import Endpoint
from runs.selectors.limits.limits import slots_now
from workers.engine.chunks import SlotPlan
from workers.engine.schedule import plan_slots
from workers.engine.spec.configuration import Configuration, TrialRange


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
    split = product(configuration, plan.split.candidates, plan.split.cases_per_candidate)
    lent = f", and {plan.lent:,} more" if plan.lent else ""
    why = kind_named(configuration.kind).why_unused(configuration)
    unused = f"; {plan.empty:,} stay unused: {why}" if plan.empty else ""
    return f"{counted(plan.slots, 'call')} at once{limit}: {split}{lent}{unused}."


def product_text(configuration: Configuration, cases: int, rows: int) -> str:
    """As in `2 candidates × 3 cases (of 1,319) × 2 repeats`."""
    each, word = kind_named(configuration.kind).tried_on(configuration, cases)
    text = product(configuration, configuration.candidates, each)
    text += f" (of {rows:,})" if word == "case" and cases < rows else ""
    return text if configuration.repeats == 1 else f"{text} × {configuration.repeats:,} repeats"


def count_every(configuration: Configuration, cases: int) -> int:
    """Trials, if none is spared."""
    each = kind_named(configuration.kind).tried_on(configuration, cases).number
    return configuration.candidates * each * configuration.repeats


def bounds_text(configuration: Configuration, cases: int, bounds: TrialRange) -> str:
    """What the kind says of the trials that it may not need, and of what they ask. Empty: it needs
    all, and each is a call or two."""
    kind, every = kind_named(configuration.kind), count_every(configuration, cases)
    spared = "" if bounds.least == every else kind.explain_bounds(configuration, every, bounds)
    return " ".join(filter(None, [spared, kind.explain_calls(configuration, bounds)]))


def product(configuration: Configuration, candidates: int, each: int) -> str:
    kind = kind_named(configuration.kind)
    what = counted(candidates, kind.candidate_word, kind.candidate_words)
    return f"{what} × {counted(each, kind.tried_on(configuration, each).word)}"
