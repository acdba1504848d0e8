"""What a run did in each role of its trials: in numbers for programs, in a line for people."""

from collections.abc import Mapping

from pydantic import BaseModel

from runs import formatting
from runs.models import Run
from workers.engine.records import EVALUATE, JUDGE


class RoleLine(BaseModel):
    """Trials of one role; of the role judge, calls inside trials, with the mean latency of those
    that were made and answered. `sent` and `cost` stay when a trial is retried: they were paid."""

    done: int = 0
    failed: int = 0
    sent: int = 0
    cached: int = 0
    cost: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    latency_mean_ms: float | None = None


def role_lines(run: Run) -> dict[str, RoleLine]:
    """By role, evaluate first. Empty where there is no other: the run's own numbers tell all."""
    others = {role: read_line(counts) for role, counts in run.by_role.items()}
    if not others:
        return {}
    evaluate = RoleLine(
        done=run.done,
        failed=run.failed,
        sent=run.calls_sent - sum(line.sent for line in others.values()),
        cached=run.cached,
        cost=max(0.0, round(run.cost - sum(line.cost for line in others.values()), 12)),
        tokens_in=run.tokens_in - sum(line.tokens_in for line in others.values()),
        tokens_out=run.tokens_out - sum(line.tokens_out for line in others.values()),
    )
    return {EVALUATE: evaluate, **others}


def read_line(counts: Mapping[str, float]) -> RoleLine:
    line = RoleLine.model_validate(counts)
    made = line.done - line.failed - line.cached
    if made > 0 and "latency_ms" in counts:
        line.latency_mean_ms = counts["latency_ms"] / made
    return line


def role_texts(lines: Mapping[str, RoleLine], unpriced: int) -> list[str]:
    return [f"{role}: {line_text(role, line, unpriced)}" for role, line in lines.items()]


def line_text(role: str, line: RoleLine, unpriced: int) -> str:
    cost = "price unknown" if unpriced and not line.cost else formatting.dollars(line.cost)
    parts = [formatting.counted(line.done, "call" if role == JUDGE else "trial")]
    if line.failed:
        parts.append(f"{line.failed:,} failed")
    parts += [f"{line.sent:,} sent", cost]
    if line.latency_mean_ms is not None:
        parts.append(f"{formatting.milliseconds(line.latency_mean_ms)} each")
    if line.cached:
        parts.append(f"{line.cached:,} from the cache")
    return ", ".join(parts)
