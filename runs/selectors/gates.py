"""Judges runs by what was asked of them, and says what configurations ask and what came of it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.utils import timezone
from pydantic import BaseModel

from runs.kinds import kind_of
from runs.models import Configuration, Run, RunGate
from runs.selectors.comparing.comparison import compare_sides
from runs.selectors.comparing.sides import side_of
from runs.selectors.runs.confirmation import held_out_of
from runs.selectors.runs.outcome import outcome_of
from workers.engine.statistics.gates import Check, Gates, Outcome, judge

NO_GATES = Gates()
LONGEST_CANDIDATE = 250  # characters of a name, as in its table
BASELINE = "baseline"  # its number, beside the gates
FIELDS = ("min_score", "score_of", "max_error_rate", "max_cost", "max_regressions", "alpha")
AGAINST_BASELINE = {"baseline", "regressions"}  # checks whose failure is a regression


class Judged(NamedTuple):
    """A run, what became of it, and which of the things asked of it hold."""

    outcome: Outcome
    found: Any  # what its kind finds in it, if anything
    comparison: Any  # with the baseline, if there is one
    confirmation: Any  # of the best on cases held out, if there is one
    checks: list[Check]


class GateCheck(BaseModel):
    name: str
    passed: bool
    told: str


class GateAnswer(BaseModel):
    """`state` is pending, passed, failed or regressed; the last is a failure against the baseline.
    What was asked is as it was at the launch of the run."""

    state: str
    baseline: int | None
    judged: datetime | None
    checks: list[GateCheck]


def judge_run(run: Run, gates: Gates = NO_GATES, baseline: Run | None = None) -> Judged:
    comparison: Any = compare_sides(side_of(baseline), side_of(run)) if baseline else None
    found = kind_of(run).find(run)
    outcome = outcome_of(run, timezone.now(), found, gates.score_of or "")
    held_out = held_out_of(run)
    confirmation = held_out.confirmation if held_out else None
    told = confirmation.sentence if confirmation else ""
    checks = judge(gates, outcome, comparison.found if comparison else None, told)
    return Judged(outcome, found, comparison, confirmation, checks)


def read_asked(asked: Mapping[str, Any]) -> Gates:
    return Gates(**{name: asked.get(name) for name in FIELDS})


def asked_by(stored: Configuration) -> dict[str, Any]:
    """What each run of it is held to; empty: nothing. A baseline that was removed is still asked
    for, and missed: a gate must not open by itself."""
    return {name: value for name, value in stored.gates.items() if value is not None}


def gate_of(run: Run) -> RunGate | None:
    return RunGate.objects.filter(run=run).first()


def gate_states(runs: list[int]) -> dict[int, RunGate]:
    """By run, for lists."""
    return {gate.run_id: gate for gate in RunGate.objects.filter(run__in=runs)}


def gate_answer(gate: RunGate | None) -> GateAnswer | None:
    if gate is None:
        return None
    return GateAnswer(
        state=gate.state,
        baseline=gate.asked.get(BASELINE),
        judged=gate.judged,
        checks=[GateCheck(name=name, passed=ok, told=told) for name, ok, told in gate.checks],
    )
