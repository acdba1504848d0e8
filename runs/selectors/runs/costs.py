"""What a run and its candidates cost, in words: an unknown price is said to be unknown."""

from collections.abc import Callable

from runs import formatting
from runs.models import Candidate, Run, Score
from workers.engine.calling.prices import UNREAD_OUTCOMES, cost_of, read_prices
from workers.engine.kinds import KINDS
from workers.engine.records import StepCall

UNKNOWN = "unknown"
ERROR, FULL_COST = (StepCall._fields.index(name) for name in ("error", "full_cost"))


def cost_text(run: Run) -> dict[str, str]:
    value = value_text(run)
    is_mixed = run.unpriced > 0 and value != UNKNOWN
    calls = "call" if run.unpriced == 1 else "calls"
    mixed = f"+ {run.unpriced:,} {calls} of unknown price"
    saved = f"{formatting.dollars(run.cost_saved)} saved"
    context = f"{saved} by the cache"
    if is_mixed:
        context = f"+ {run.unpriced:,} of unknown price, {saved}"
    if value == UNKNOWN:
        context = f"{run.unpriced:,} {calls} of unknown price"
    if value == formatting.NOTHING:
        context = "no answer paid for yet"
    return {
        "cost": f"{value} {mixed}" if is_mixed else value,
        "cost_value": value_text(run, formatting.short_dollars),
        "cost_context": context,
        "cost_saved": formatting.dollars(run.cost_saved),
    }


def value_text(run: Run, write: Callable[[float], str] = formatting.dollars) -> str:
    """What is known of a run's cost. Nothing paid is only said when it was all served for free."""
    if not run.cost and run.unpriced:
        return UNKNOWN
    if not run.cost and not run.scored:
        return formatting.NOTHING
    return write(run.cost)


def trial_cost_text(score: Score) -> str:
    if score.cost is not None:
        return formatting.dollars(score.cost)
    arrived = {"ok", *UNREAD_OUTCOMES}
    if any(attempt[1] in arrived for attempt in score.attempts):
        return f"{UNKNOWN}: the model has no price, or the provider did not report tokens"
    return "no answer arrived" if score.attempts else "no call was made"


def judge_cost_text(score: Score) -> str:
    use, calls = (score.judging or {}).get("use"), (score.judging or {}).get("calls", ())
    if not use:
        return ""
    is_unknown = any(call[FULL_COST] is None and not call[ERROR] for call in calls)
    return f"cost {UNKNOWN}" if is_unknown else formatting.dollars(use["cost"])


def cost_per_thousand(run: Run, candidate: Candidate) -> float | None:
    """Dollars for a thousand answers at the prices of the launch, whether paid or cached: so
    candidates compare. None when the price is unknown, or the provider told no tokens."""
    model, *others = KINDS[run.kind].models_called(candidate.document)
    if others:
        return None  # the tokens of all steps are counted together
    facts = run.snapshot_of.get("endpoints", {}).get(model["endpoint"], {})
    price = read_prices(facts.get("prices", {})).get(model["model"])
    if not candidate.scored or not candidate.tokens_in:
        return None
    cost = cost_of(price, candidate.tokens_in, candidate.tokens_out)
    return None if cost is None else 1000 * cost / candidate.scored
