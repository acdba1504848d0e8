"""The numbers a run page shows: absolute, numbered, and already written out as text.

Formatting happens here, once: the page puts `text` into its place, on the first load and live.
"""

from datetime import datetime
from typing import Any

from django.db.models import Count
from django.utils import timezone

from runs import formatting
from runs.kinds import kind_of
from runs.models import Candidate, Run, RunState
from runs.selectors.health import NO_WORKER, is_without_worker
from runs.selectors.limits.budgets import budget_frame, notice_text, raises_of, read_budget
from runs.selectors.limits.calls_now import read_now, slots_over_time, trials_per_second_allowed
from runs.selectors.limits.limit_changes import MOST_MARKS, TICK_MARKS, read_limit_changes
from runs.selectors.limits.limited_by import limit_of
from runs.selectors.limits.limits import WAITING, configuration_now, decides, limits_text
from runs.selectors.limits.rates import mean_rate, recent_rate
from runs.selectors.runs.best_candidates import leader_of
from runs.selectors.runs.costs import cost_text
from runs.selectors.runs.events import list_advice
from runs.selectors.runs.planned import most_word, planned_text
from runs.selectors.runs.run_list import own_headlines
from runs.selectors.runs.series import Series, read_series
from runs.selectors.runs.trial_roles import role_lines, role_texts
from workers.engine.kinds import read_configuration
from workers.engine.records import EVALUATE
from workers.engine.statistics.intervals import percentile

MOST_OF_NAME = 60  # characters of a candidate beside its score
TICK_ROWS = 5  # a tick repeats the newest seconds, so that a lost one heals


def take_snapshot(run: Run, *, series: bool = True, advice: bool = True) -> dict[str, Any]:
    """Everything about a run at this moment; the chart in full, or only its end. Tabs that show no
    `advice` do not ask for it."""
    now = timezone.now()
    chart = read_series(run)
    configuration = configuration_now(run)
    calls = read_now([run]).get(run.pk)
    slots = slots_over_time(run, configuration, calls, int(run.running_seconds(now)))
    in_flight = current_in_flight(run, chart, now)
    limited_by = limit_of(run, calls)
    budget, raises = read_budget(run, now), raises_of(run, now)
    return {
        "v": 1,
        "seq": run.version,
        "run": run.pk,
        "state": run.state,
        "state_text": run.get_state_display(),
        "reason": run.reason,
        "is_finished": run.is_finished,
        "can_pause": run.state in RunState.going(),
        "can_pause_now": run.state in [*RunState.going(), RunState.PAUSING] and not run.drops_calls,
        "can_resume": run.state in RunState.held() and not raises,
        "can_retry": can_retry(run),
        "server_time": now.isoformat(),
        "percent": round(100 * share(run.done, run.planned), 1),
        "bar": bar_of(run, in_flight),
        "budget": budget_frame(budget),
        "raises": {each.name: each._asdict() for each in raises},
        "text": {
            **text_of(run, chart, now, in_flight, slots.possible),
            "limits": limits_text(configuration),
            "limited_by": limited_by.text if limited_by else "",
            "advice": "\n".join(list_advice(run)) if advice else "",
            "notice": notice_text(run, budget),
            "cut": cut_text(run),
            "roles": "\n".join(role_texts(role_lines(run), run.unpriced)),
        },
        "series": chart.as_frame() if series else chart.as_frame(last=TICK_ROWS),
        "limit": slots.possible,
        "rate_limit": trials_per_second_allowed(run, configuration, calls),
        "limited_by": limited_by.model_dump() if limited_by else None,
        **read_limit_changes(run, slots, last=MOST_MARKS if series else TICK_MARKS),
        "leaderboard_version": run.done + run.told("done") + run.is_finished,  # its end is news
    }


def can_retry(run: Run) -> bool:
    """A choice has decided by its failures, so they are retried only while it decides nothing."""
    if decides(run) and not run.is_finished and run.state != RunState.PAUSED:
        return False
    failed = run.failed + run.told("failed")
    return failed > 0 and run.state not in [RunState.CANCELLED, RunState.FAILED]


def share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def current_in_flight(run: Run, chart: Series, now: datetime) -> int:
    """As last sampled; nothing flies in a run that is over or paused, or that nobody sampled."""
    if run.is_finished or run.state == RunState.PAUSED or run.started is None or not chart.rows:
        return 0
    newest = chart.rows[-1]
    is_recent = run.running_seconds(now) - newest.second < 4 + chart.step
    return min(newest.in_flight, run.planned - run.done) if is_recent else 0


def bar_of(run: Run, in_flight: int) -> dict[str, int]:
    return {
        "fresh": run.scored - run.cached,
        "cached": run.cached,
        "failed": run.failed,
        "in_flight": in_flight,
        "waiting": max(0, run.planned - run.done - in_flight),
        "planned": run.planned,
    }


def text_of(run: Run, chart: Series, now: datetime, in_flight: int, limit: int) -> dict[str, str]:
    text = {
        **progress_text(run, chart, now),
        **score_text(run),
        **speed_text(run, chart, now),
        **call_text(run, in_flight, limit),
        **error_text(run),
        **cost_text(run),
    }
    if run.state in RunState.going() and not in_flight and is_without_worker():
        text["eta"] = NO_WORKER
    text["summary"] = (
        f"{run.get_state_display()}: {text['progress']}, {text['percent']}, {text['eta']}. "
        f"Score {text['score']}, {text['errors']} failed."
    )
    return text


def progress_text(run: Run, chart: Series, now: datetime) -> dict[str, str]:
    return {
        "done": formatting.count(run.done),
        "planned": formatting.count(run.planned),
        "percent": formatting.percent(share(run.done, run.planned)),
        "progress": f"{run.done:,} of {planned_text(run)}",
        "elapsed": formatting.duration(run.running_seconds(now) if run.started else None),
        "eta": eta_text(run, chart, now),
    }


def eta_text(run: Run, chart: Series, now: datetime) -> str:
    elapsed = formatting.duration(run.running_seconds(now))
    if run.state == RunState.QUEUED:
        return queue_text(run)
    if run.is_finished:
        verb = "finished in" if run.state.startswith("completed") else "stopped after"
        return f"{verb} {elapsed}"
    if run.state == RunState.PAUSING:
        return "pausing: the calls in flight end first"
    if run.state == RunState.PAUSED:
        left = formatting.counted(run.planned - run.done, "trial")
        return f"paused, {most_word(run)}{left} left"
    if run.reason.startswith(WAITING):
        return "waiting for its endpoint to be resumed"
    if not run.done:
        return f"waiting for the first answers, {elapsed} so far"
    rate = recent_rate(run, chart.newest, now) or mean_rate(run, now)
    if not rate:
        return "waiting for answers"
    word = most_word(run) or "about "
    return f"{word}{formatting.duration((run.planned - run.done) / rate)} left"


def queue_text(run: Run) -> str:
    """Workers take queued runs in the order in which they were launched."""
    before = Run.objects.filter(state=RunState.QUEUED, pk__lt=run.pk).count()
    if not before:
        return "waiting for a worker"
    return f"waiting for a worker, after {formatting.counted(before, 'other run')}"


def score_text(run: Run) -> dict[str, str]:
    """Of its best candidate, or of what its kind says in lists."""
    own = own_headlines([run]).get(run.pk)
    best = None if own else leader_of(run)
    found = own or (best.score if best else None)
    context = f"95 % interval, n = {found.n:,}" if found else "no trial scored yet"
    return {
        "score": formatting.score(found.value if found else None),
        "score_interval": formatting.score_interval(
            found.low if found else None, found.high if found else None
        ),
        "score_context": beside_best(run, best.candidate, context) if best and found else context,
    }


def beside_best(run: Run, best: Candidate, context: str) -> str:
    """Whose score it is where there are several, and what it is if failures count as wrong. The
    name stands first: a phone cuts the rest."""
    if read_configuration(run.document).candidates > 1:
        context = f"{formatting.excerpt(best.name, MOST_OF_NAME)}; {context}"
    if best.failed and kind_of(run).can_be_wrong:
        wrong = formatting.score(best.value_sum / best.done)
        context = f"{context}; {wrong} if failures count as wrong"
    return context


def speed_text(run: Run, chart: Series, now: datetime) -> dict[str, str]:
    mean = formatting.rate(mean_rate(run, now))
    throughput = formatting.rate(recent_rate(run, chart.newest, now))
    context = f"trials; mean {mean}"
    if run.is_finished:
        throughput, context = mean, "trials, mean over the run"
    elif run.state == RunState.PAUSED:
        throughput, context = "Paused", f"mean {mean} while it ran"
    elif run.reason.startswith(WAITING):
        throughput, context = "Waiting", f"mean {mean} so far"
    return {"throughput": throughput, "throughput_context": context, **latency_text(run)}


def latency_text(run: Run) -> dict[str, str]:
    """Of the calls made in this run, as its chart draws them."""
    p50, p95 = percentile(run.latency_bins, 0.5), percentile(run.latency_bins, 0.95)
    calls = sum(run.latency_bins.values())
    context = "every answer came from the cache" if run.cached else "no answer yet"
    if calls:
        answers = "answer" if calls == 1 else "answers"
        beside = ", without cached ones" if run.cached else ""
        context = f"p95 {formatting.milliseconds(p95)}, of {calls:,} {answers}{beside}"
    return {
        "latency_p50": formatting.milliseconds(p50),
        "latency_p95": formatting.milliseconds(p95),
        "latency_context": context,
    }


def call_text(run: Run, in_flight: int, limit: int) -> dict[str, str]:
    calls = f"{run.calls_sent:,} sent, {run.calls_retried:,} retried"
    return {
        "in_flight": formatting.count(in_flight),
        "in_flight_context": f"limit {limit:,}, peak {run.peak_in_flight:,}",
        "peak": formatting.count(run.peak_in_flight),
        "calls": f"{calls}, {run.calls_throttled:,} throttled",
        "calls_sent": formatting.count(run.calls_sent),
        "cache_rate": formatting.percent(share(run.cached, run.done) if run.done else None),
        "cache_context": cache_context(run),
        "cached": formatting.count(run.cached),
        "fresh": formatting.count(run.scored - run.cached),
        "waiting": formatting.count(max(0, run.planned - run.done - in_flight)),
    }


def cache_context(run: Run) -> str:
    """Where the answers came from. Shared ones took the answer of an equal call under way."""
    stored = max(0, run.cached + run.told("cached") - run.calls_joined)
    shared = f", {run.calls_joined:,} shared with identical calls" if run.calls_joined else ""
    return f"{run.calls_sent:,} sent, {stored:,} from cache{shared}"


def cut_text(run: Run) -> str:
    """Said only if it happened: cut answers look like wrong ones."""
    if not run.truncated:
        return ""
    answers = "1 answer was" if run.truncated == 1 else f"{run.truncated:,} answers were"
    return f"{answers} cut at the length limit (max_tokens)."


def error_text(run: Run) -> dict[str, str]:
    context = "no trial failed" if run.done else "no trial finished yet"
    if run.failed:
        context = f"{formatting.percent(share(run.failed, run.done))}, most: {top_error(run)}"
    elif told := run.told("failed"):
        context = f"of evaluations; {told:,} in other roles"
    return {
        "failed": formatting.count(run.failed),
        "errors": formatting.count(run.failed),
        "errors_context": context,
    }


def top_error(run: Run) -> str:
    """The most frequent class of error. Only asked when there is one."""
    row = (
        run.scores.exclude(error_class="")
        .filter(**({"candidate__role": EVALUATE} if run.by_role else {}))
        .order_by()
        .values("error_class")
        .annotate(times=Count("pk"))
        .order_by("-times")
        .first()
    )
    return str(row["error_class"]).replace("_", " ") if row else "unknown"
