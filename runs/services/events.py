"""Notes down what happened to a run and why."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from runs.live import publish
from runs.models import ADVICE, Endpoint, EventLevel, Run, RunEvent, RunState
from runs.selectors.runs.errors import IS_FAILING
from runs.services.webhooks import announce_failing
from workers.engine.batch_sizes import Queueing
from workers.engine.throttling.permits import LimitChange

LONGEST_REASON = 300  # characters, as in the table
LIMIT_WORDS = {
    "max_concurrent": "calls at once",
    "requests_per_minute": "requests a minute",
    "tokens_per_minute": "tokens a minute",
    "priority": "priority",
    "budget.dollars": "budget in dollars",
    "budget.calls": "budget of calls",
    "budget.seconds": "budget of seconds",
}

# Why a limit moved by itself, by what permits.lua says; other reasons are sentences already.
LIMIT_REASONS = {
    "slow start": "all calls went well so far",
    "grown: all answered": "all calls were answered",
    "lowered": "somebody set it",
    "cut: the provider said 429": "the provider refused calls (429, too many requests)",
}


def note(run: Run, message: str, level: EventLevel = EventLevel.INFO) -> None:
    RunEvent.objects.create(run=run, level=level, message=message[:500])


def note_discarded(run: Run, scores: int) -> None:
    """A worker that was taken for dead came back with results: others had gone on."""
    if not scores:
        return
    results = "1 result" if scores == 1 else f"{scores:,} results"
    RunEvent.objects.create(
        run=run,
        kind="discarded",
        level=EventLevel.WARNING,
        message=f"A worker answered after another one had taken over its trials: {results} came "
        "too late and did not count.",
        data={"scores": scores},
    )


def note_reopened(run: Run, chunks: int) -> None:
    """Must not happen. If it does, the trials are run, and a person can see that it happened."""
    opened = "1 chunk is" if chunks == 1 else f"{chunks:,} chunks are"
    RunEvent.objects.create(
        run=run,
        kind="reopened",
        level=EventLevel.WARNING,
        message=f"Some trials had no score at the end, so {opened} run again.",
    )


@transaction.atomic
def note_limit_change(run_ids: Sequence[int], change: LimitChange) -> None:
    """A limit moved by itself: one event for every live run that feels it."""
    live = Run.objects.filter(pk__in=run_ids, state__in=RunState.live())
    model = model_of(change.key)
    is_better = change.after >= change.before
    last = f" The last error: {change.cause}" if change.cause else ""
    told = f"{model} {IS_FAILING}; it is tried again soon.{last}"[:LONGEST_REASON]
    reason = "" if change.after else told
    why = LIMIT_REASONS.get(change.reason, change.reason)
    message = f"Calls at once to {model} went from {change.before} to {change.after}: {why}.{last}"
    for run in live:
        RunEvent.objects.create(
            run=run,
            kind="limit",
            level=EventLevel.INFO if is_better else EventLevel.WARNING,
            message=message[:500],
            data={**change._asdict(), "model": model, "second": second_now(run)},
        )
        transaction.on_commit(partial(publish, run.pk))
        if not change.after:
            announce_failing(run.pk, reason)
    if not change.after or change.reason.startswith("breaker"):
        going = live.filter(state__in=RunState.going())  # why a run is paused stays to be read
        going.update(reason=reason, version=F("version") + 1)


@transaction.atomic
def note_queueing(run_ids: Sequence[int], key: str, found: Queueing) -> None:
    """Calls wait at the server of a model: one piece of advice for every live run that makes them.
    Of what several workers have seen, or one has seen twice, the smallest number is the nearest."""
    live = Run.objects.select_for_update().filter(pk__in=run_ids, state__in=RunState.live())
    model = model_of(key)
    for run in live:
        known = run.events.filter(kind=ADVICE, data__key=key).first()
        event = known or RunEvent(run=run, kind=ADVICE, level=EventLevel.WARNING)
        if known and known.data["size"] <= found.size:
            continue
        event.message = f"{model}: {found.advice}"[:500]
        event.data = {"key": key, "model": model, **found._asdict()}
        event.save()
        transaction.on_commit(partial(publish, run.pk))


def note_retuning(run: Run, who: str, moves: Mapping[str, tuple[Any, Any]], reason: str) -> str:
    """A person changed limits of a run. Gives the changes in words."""
    changes = ", ".join(
        f"{LIMIT_WORDS[name]} from {limit_text(before)} to {limit_text(after)}"
        for name, (before, after) in moves.items()
    )
    RunEvent.objects.create(
        run=run,
        kind="limit",
        message=f"{who} changed {changes}.{f' Why: {reason}' if reason else ''}"[:500],
        data={
            "key": f"run:{run.pk}",
            "who": who,
            "moves": dict(moves),
            "reason": reason,
            "second": second_now(run),
        },
    )
    return changes


def second_now(run: Run) -> int:
    """Where the chart of the run is: pauses are not on it."""
    return int(run.running_seconds(timezone.now()))


def limit_text(value: Any) -> str:
    return "no limit" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def note_endpoint(
    run_ids: Sequence[int],
    endpoint: Endpoint,
    moved: tuple[int, int],
    reason: str,
    level: EventLevel = EventLevel.INFO,
) -> None:
    """A person stopped or freed an endpoint: one event for every run that calls it."""
    before, after = moved
    data = {"key": f"endpoint:{endpoint.pk}", "before": before, "after": after, "reason": reason}
    RunEvent.objects.bulk_create(
        RunEvent(
            run=run,
            kind="limit",
            level=level,
            message=f"Endpoint {endpoint.name}: {reason}.",
            data={**data, "model": endpoint.name, "second": second_now(run)},
        )
        for run in Run.objects.filter(pk__in=run_ids)
    )


def model_of(key: str) -> str:
    """`endpoint:3/gpt` as a person knows it: the endpoint's name and the model."""
    endpoint_id, _, model = key.removeprefix("endpoint:").partition("/")
    endpoint = Endpoint.objects.filter(pk=endpoint_id).first() if endpoint_id.isdecimal() else None
    return f"{endpoint.name}/{model}" if endpoint else key
