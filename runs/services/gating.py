"""Holds the runs of a configuration to its baseline and gates.

What is asked is kept with the run at its launch. Some process judges it once it has ended: the row
is claimed first, so that one does it, and another one may if that process dies.
"""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Q, QuerySet

from runs.access import runs_for
from runs.models import AlertEvent, AuditAction, Configuration, EventLevel, Run, RunGate, RunState
from runs.selectors.gates import (
    AGAINST_BASELINE,
    BASELINE,
    FIELDS,
    asked_by,
    judge_run,
    read_asked,
)
from runs.selectors.runs.baselines import COMPARABLE, has_scorers_of
from runs.services.audit import record
from runs.services.events import note
from runs.services.webhooks import announce
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.statistics.gates import Check

AT_ONCE = 5
CLAIMED_FOR = timedelta(minutes=2)  # longer than judging the largest run takes


@transaction.atomic
def set_gate(
    stored: Configuration, user: AbstractBaseUser, baseline: Run | None, gates: dict[str, Any]
) -> bool:
    """What runs of it are held to from now on; False if it was so already. ConfigurationError says
    what makes no sense."""
    given = {name: gates[name] for name in FIELDS if gates.get(name) is not None}
    if problems := problems_with(stored, baseline, given):
        raise ConfigurationError(problems)
    if baseline is not None:
        given[BASELINE] = baseline.pk  # stays when the run is removed
    if (stored.baseline, stored.gates) == (baseline, given):
        return False
    stored.baseline, stored.gates = baseline, given
    stored.save(update_fields=["baseline", "gates"])
    record(AuditAction.CONFIGURATION_GATED, stored, gate_text(stored), actor=user)
    return True


def problems_with(
    stored: Configuration, baseline: Run | None, given: dict[str, Any]
) -> list[Problem]:
    if "score_of" in given and "min_score" not in given:
        return [Problem("score_of", "Give the least score that this candidate must have, too.")]
    if baseline is None:
        alone = [name for name in ("max_regressions", "alpha") if name in given]
        told = "This compares with a baseline: choose a run, or leave it empty."
        return [Problem(name, told) for name in alone]
    if baseline.state not in COMPARABLE:
        told = (
            f"Run {baseline.pk} is {baseline.get_state_display().lower()}. Choose a complete one."
        )
        return [Problem(BASELINE, told)]
    if not has_scorers_of(baseline, stored.as_document):
        told = f"Run {baseline.pk} has other scorers, so scores cannot be compared. Choose another."
        return [Problem(BASELINE, told)]
    return []


def gate_text(stored: Configuration) -> str:
    words = [
        f"{name.replace('_', ' ')} {value if isinstance(value, str) else f'{value:g}'}"
        for name, value in asked_by(stored).items()
    ]
    return ", ".join(words) or "nothing is asked any more"


def open_gate(run: Run, stored: Configuration | None) -> None:
    """Call it in the transaction that stores the run."""
    if stored and (asked := asked_by(stored)):
        RunGate.objects.create(run=run, baseline_id=stored.baseline_id, asked=asked)


def reopen_gate(run: Run) -> None:
    """A run that goes on after its end is judged again."""
    RunGate.objects.filter(run=run).update(
        judged=None, claimed=None, passed=None, regressed=False, checks=[]
    )


def to_judge(now: datetime) -> QuerySet[RunGate]:
    """Of runs that have ended, and that nobody is judging."""
    free = Q(claimed=None) | Q(claimed__lt=now - CLAIMED_FOR)
    return RunGate.objects.filter(free, judged=None).exclude(run__state__in=RunState.live())


def judge_ended(now: datetime) -> int:
    """Judge some of what has ended; tells how many."""
    found = to_judge(now).select_related("run__dataset", "baseline__dataset")[:AT_ONCE]
    return sum(_judge(gate, now) for gate in found)


def _judge(gate: RunGate, now: datetime) -> bool:
    """False if somebody else claimed it, or the run goes on again."""
    mine = RunGate.objects.filter(pk=gate.pk, judged=None, claimed=gate.claimed)
    if not mine.update(claimed=now):
        return False
    checks = _checks_of(gate)
    failed = {check.name for check in checks if not check.passed}
    has_regressed = gate.run.state in COMPARABLE and bool(failed & AGAINST_BASELINE)
    return _store_judgement(gate, checks, now, passed=not failed, regressed=has_regressed)


def _checks_of(gate: RunGate) -> list[Check]:
    """Its owner is told no figures of a baseline that only others may see."""
    checks = judge_run(gate.run, read_asked(gate.asked), gate.baseline).checks
    baseline = gate.baseline
    if baseline and not runs_for(gate.run.owner).filter(pk=baseline.pk).exists():
        told = f"The baseline, run {baseline.pk}, is not shared with {gate.run.owner}."
        hidden = AGAINST_BASELINE
        checks = [one._replace(told=told) if one.name in hidden else one for one in checks]
    if BASELINE in gate.asked and gate.baseline is None:
        told = f"Run {gate.asked[BASELINE]} was deleted. Choose another baseline."
        checks.append(Check("baseline deleted", False, told))
    return checks


@transaction.atomic
def _store_judgement(
    gate: RunGate, checks: list[Check], now: datetime, *, passed: bool, regressed: bool
) -> bool:
    mine = RunGate.objects.filter(pk=gate.pk, judged=None, claimed=now)
    stored = mine.update(
        judged=now,
        passed=passed,
        regressed=regressed,
        checks=[[check.name, check.passed, check.told] for check in checks],
    )
    if not stored:
        return False
    failed = " ".join(check.told for check in checks if not check.passed)
    told = f"Regressed: {failed}" if regressed else f"A gate failed: {failed}"
    level = EventLevel.INFO if passed else EventLevel.WARNING
    if not passed:
        announce(gate.run_id, AlertEvent.GATE_FAILED, told)
    note(gate.run, "It passed the gate of its configuration." if passed else told, level)
    return True
