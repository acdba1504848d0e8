"""What an evolution has come to: by replay of what is stored, at any time."""

import json
from bisect import bisect_right
from collections import Counter
from functools import partial
from typing import Any

from django.utils import timezone

from runs.kinds.following import Followed, follow
from runs.models import Run
from runs.selectors.case_sources import positions_of
from runs.selectors.limits.limits import configuration_now
from runs.selectors.runs.confirmation import held_out_of
from runs.selectors.runs.run_summary import run_detail
from workers.engine.kinds.evolve import Evolution, life_in
from workers.engine.kinds.evolve.report import (
    EvolutionReport,
    GenomeRow,
    as_record,
    population_of,
    report_of,
)
from workers.engine.records import EVALUATE
from workers.engine.spec.configuration import Prompt
from workers.engine.strategies import Strategy


def evolution_of(run: Run) -> EvolutionReport:
    configuration = configuration_now(run)
    assert isinstance(configuration, Evolution)  # the caller has looked at the kind
    cases = len(positions_of(run))
    followed = follow(run, partial(configuration.begin, cases))
    make = partial(read_on, run, configuration, followed)
    found: EvolutionReport = followed.reported(make, run.asked, run.done, run.state, run.ended)
    return found


def read_on(run: Run, configuration: Evolution, followed: Followed[Strategy]) -> EvolutionReport:
    early = {score.trial.position for score in followed.read_on(run)}
    if run.is_finished:
        followed.session.plan(1)  # a life that is over says why
    told, most = followed.session.told, configuration.options.most_measured
    return report_of(life_in(followed.strategy), told, most, early)


def population_in(run: Run, number: int) -> list[GenomeRow]:
    """Of an earlier generation, of a run whose report was just read."""
    configuration = configuration_now(run)
    assert isinstance(configuration, Evolution)  # the caller has looked at the kind
    followed = follow(run, partial(configuration.begin, len(positions_of(run))))
    with followed.lock:
        life = life_in(followed.strategy)
        known = number < len(life.generations)
        return population_of(life, life.generations[number]) if known else []


def seconds_of(run: Run) -> float | None:
    return run.running_seconds(run.ended or timezone.now()) if run.started else None


def record_of(run: Run) -> dict[str, Any]:
    """By the names of the evolution pipeline's guide, and how the calls went."""
    detail = run_detail(run)
    return {
        **as_record(evolution_of(run), seconds_of(run)),
        "performance_summary": detail.rates.model_dump(),
        "async_stats": {
            **detail.calls.model_dump(),
            "failed": detail.counts.failed,
            "peak_in_flight": detail.peak_in_flight,
        },
    }


def board_record_of(run: Run) -> dict[str, Any]:
    report = evolution_of(run)
    cached = cached_by_generation(run, [row.asked for row in report.generations])
    generations = [
        {
            "generation": row.number + 1,
            "best_fitness": row.best,
            "mean_fitness": row.mean,
            "diversity": row.diversity,
            "evaluations": row.evaluations,
            "cached": cached[place],
        }
        for place, row in enumerate(report.generations)
    ]
    return {**record_of(run), "generations": generations, "best": best_record(run, report)}


def best_record(run: Run, report: EvolutionReport) -> dict[str, Any] | None:
    if report.best is None:
        return None
    held_out = held_out_of(run)
    confirmation = held_out.confirmation if held_out else None
    return {
        "candidate": report.best.key,
        "system": report.best.text,
        "user": first_prompt_of(run).user,
        "fitness": report.best_fitness,
        "held_out": confirmation.as_facts().model_dump() if confirmation else None,
    }


def first_prompt_of(run: Run) -> Prompt:
    """With what its document leaves to the defaults."""
    configuration = configuration_now(run)
    assert isinstance(configuration, Evolution)
    return configuration.prompts[0]


def cached_by_generation(run: Run, ends: list[int]) -> Counter[int]:
    """Answers of evaluations that came from the cache; `ends` are the trials until each end."""
    cached = run.scores.filter(cached=True, candidate__role=EVALUATE)
    places = cached.values_list("position", flat=True)
    return Counter(bisect_right(ends, place) for place in places.iterator())


def write_record(run: Run) -> str:
    return json.dumps(record_of(run), indent=2, ensure_ascii=False)
