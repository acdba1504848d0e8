"""What became of a trial, as a Score: what the scorers said in one value, or what went wrong."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from workers.engine.calling.asking import count_calls
from workers.engine.calling.prices import Bill
from workers.engine.errors import CallError, NotScored
from workers.engine.records import Attempt, Judgement, KeptAnswer, Reply, Score, Trial

Use = dict[str, Any]
"""Fields of a Score that say what it took."""


class Verdict(NamedTuple):
    value: float
    passed: bool | None
    judgements: tuple[Judgement, ...] = ()


class Combination(NamedTuple):
    """How what several scorers said becomes one score."""

    weights: tuple[float, ...]  # in the order of the scorers
    needs_all: bool = False  # 1 if every one of them passes, else 0; not: their weighted mean


def verdict_of(judgements: Sequence[Judgement], combination: Combination) -> Verdict:
    """Of those that count and scored it. NotScored if there is none."""
    total = weighted = 0.0
    passed: bool | None = None
    for one, weight in zip(judgements, combination.weights, strict=True):
        if not weight or one.value is None:
            continue
        total += weight
        weighted += weight * one.value
        if one.passed is not None:
            passed = one.passed and passed is not False
    if not total or (combination.needs_all and passed is None):
        raise NotScored("; ".join(f"{one.name}: {one.told}" for one in judgements))
    value = float(bool(passed)) if combination.needs_all else weighted / total
    return Verdict(value, passed, tuple(judgements))


def judged_score(
    trial: Trial,
    judgements: Sequence[Judgement],
    combination: Combination,
    reply: Reply,
    use: Use,
) -> Score:
    try:
        return good_score(trial, verdict_of(judgements, combination), reply, use)
    except NotScored as error:
        return failed_score(trial, error, use, reply, judgements, is_unjudged=True)


def use_of(trace: Sequence[Attempt], bill: Bill) -> Use:
    """What a trial took, whatever became of it."""
    return {
        "attempts": tuple(trace),
        "calls_sent": count_calls(trace),
        "cost": bill.cost,
        "cost_saved": bill.saved,
        "unpriced": bill.count_unpriced(trace),
        "full_cost": bill.full,
    }


def use_of_kept(kept: KeptAnswer) -> Use:
    return {
        "attempts": kept.attempts,
        "calls": kept.calls,
        "cost": kept.cost,
        "full_cost": kept.full_cost,
        "record": kept.record,
        "calls_sent": kept.calls_sent,
        "cost_saved": kept.cost_saved,
        "unpriced": kept.unpriced,
        "is_kept": kept.is_counted,
    }


def answer_to_keep(reply: Reply, use: Use) -> KeptAnswer:
    """With what it took so far."""
    known = {name: value for name, value in use.items() if name != "is_kept"}
    return KeptAnswer(reply, is_counted=use.get("is_kept", False), **known)


def good_score(trial: Trial, verdict: Verdict, reply: Reply, use: Use) -> Score:
    return Score(
        trial,
        value=verdict.value,
        passed=verdict.passed,
        answer=reply.text,
        judgements=verdict.judgements,
        latency_ms=reply.latency_ms,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        cached=reply.cached,
        truncated=reply.truncated,
        **use,
    )


def failed_score(
    trial: Trial,
    error: CallError,
    use: Use,
    reply: Reply | None = None,
    judgements: Sequence[Judgement] = (),
    *,
    is_unjudged: bool = False,
) -> Score:
    """Without an answer, with one that is flawed, or with one that scorers failed to judge."""
    return Score(
        trial,
        error=error.name,
        message=str(error)[:500],
        answer=reply.text if reply else "",
        judgements=tuple(judgements),
        latency_ms=reply.latency_ms if reply else None,
        tokens_in=reply.tokens_in if reply else None,
        tokens_out=reply.tokens_out if reply else None,
        cached=bool(reply and reply.cached),
        truncated=bool(reply and reply.truncated),
        unjudged=reply if is_unjudged else None,
        **use,
    )
