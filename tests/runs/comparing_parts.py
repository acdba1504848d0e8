"""Runs with given scores, counted as workers would have; and how any run is played without one."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib.auth.models import User

from runs.models import Candidate, Case, Dataset, Run, Score
from runs.services.chunks.planning import advance_run
from runs.services.chunks.totals import tally_by_candidate
from runs.services.runs import create_run
from tests.harness.factories import add_candidate, make_run, new_score
from tests.workers.by_hand import work_one_chunk
from workers.engine.records import EVALUATE, Trial
from workers.engine.records import Score as TrialScore

OPEN = -1.0  # what becomes of a trial is not known yet
# By case, or by the repeats of each case. None: the trial failed.
Outcomes = Sequence[float | Sequence[float | None] | None]


def make_scored(owner: User, dataset: Dataset, *candidates: Outcomes, **fields: Any) -> Run:
    """Each case has the same position in all runs that begin with as many outcomes."""
    run = make_run(owner, dataset, **fields)
    for number in range(1, len(candidates)):
        add_candidate(run, prompt=f"prompt {number}")
    return store_outcomes(run, *candidates)


def store_outcomes(run: Run, *candidates: Outcomes) -> Run:
    cases = list(run.dataset.cases.order_by("position"))
    scores: list[Score] = []
    for candidate, by_case in zip(run.candidates.order_by("position"), candidates, strict=True):
        for case, outcome in zip(cases, by_case, strict=False):
            for repeat, value in enumerate(outcome if isinstance(outcome, Sequence) else [outcome]):
                if value != OPEN:
                    scores.append(scored(run, candidate, case, len(scores), value, repeat))
    Score.objects.bulk_create(scores)
    run.asked = len(scores)
    count(run)
    return run


def scored(
    run: Run, candidate: Candidate, case: Case, position: int, value: float | None, repeat: int
) -> Score:
    if value is None:
        became: dict[str, Any] = {"error_class": "timeout", "error_message": "late"}
    else:
        became = {
            "value": value,
            "passed": value >= 0.5,
            "answer": f"The answer of run {run.pk} is {value:g}.",
            "latency_ms": 100.0 + position,
            "full_cost": 0.001,
        }
    return new_score(run, case, candidate, position, repeat=repeat, **became)


def count(run: Run) -> None:
    """What the scores of a run add up to, which nobody has counted yet."""
    tallies = tally_by_candidate((one.candidate_id, EVALUATE, one) for one in run.scores.all())
    for candidate in run.candidates.filter(pk__in=list(tallies)):
        tallies[candidate.pk].add_to(candidate)
        candidate.save()
        tallies[candidate.pk].add_to(run)
    run.save()


def play(run: Run, outcome: Callable[[Trial], TrialScore], until: int | None = None) -> Run:
    """To its end, or until so many trials or a few more are done. What is recorded is planned on
    here, since in most tests no transaction ends."""
    advance_run(run.pk)
    run.refresh_from_db()
    while not run.is_finished and (until is None or run.done < until):
        work_one_chunk(run, outcome)
        advance_run(run.pk)
        run.refresh_from_db()
    return run


def make_selection(owner: User, dataset: Dataset, **changes: Any) -> Run:
    """The large solver is always right, the small one never."""
    models = ["simulated/sim-small", "simulated/sim-large"]
    document = {
        "name": "pick",
        "kind": "select",
        "dataset": dataset.name,
        "steps": [{"name": "solver", "user": "{{question}}", "models": models}],
        "scorers": ["exact"],
        "strategy": {"name": "paired_elimination"},
    }
    run = create_run(owner, {**document, **changes})

    def outcome(trial: Trial) -> TrialScore:
        is_right = "sim-large" in run.candidates.get(key=trial.candidate).name
        took: Any = {"latency_ms": 120.0, "cost": 0.002, "full_cost": 0.002}
        return TrialScore(trial, value=float(is_right), passed=is_right, **took)

    return play(run, outcome)
