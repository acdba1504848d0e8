"""Evolutions that were played in memory and stored as workers would have stored them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from django.utils.timezone import now

from runs.models import Candidate, Run, RunState, Score
from runs.selectors.limits.limits import configuration_now
from runs.services.runs import create_run
from tests.harness.factories import new_score
from workers.engine.records import PROPOSE, Judgement, Trial
from workers.engine.records import Candidate as PlannedCandidate
from workers.engine.records import Score as TrialScore
from workers.engine.session import Session

Answer = Callable[[PlannedCandidate, Trial], TrialScore]
FIRST = ["Answer.", "Just answer."]


def evolution_document(**changes: Any) -> dict[str, Any]:
    strategy = {
        "population_size": 6,
        "elite_size": 2,
        "max_generations": 3,
        "target_fitness": None,
        "all_cases": True,
    }
    return {
        "name": "breed",
        "kind": "evolve",
        "seed": 3,
        "dataset": "sums",
        "prompts": [{"name": f"p{number}", "system": text} for number, text in enumerate(FIRST)],
        "models": ["simulated/sim-small"],
        "operators": ["words", {"reflect": {"model": "simulated/sim-large"}}],
        "scorers": ["exact"],
        **changes,
        "strategy": {"name": "genetic", **strategy, **changes.get("strategy", {})},
    }


def by_its_words(candidate: PlannedCandidate, trial: Trial) -> TrialScore:
    """As if more words were better, and a writer added two."""
    if candidate.role == PROPOSE:
        return TrialScore(trial, value=1.0, answer="<prompt>Answer. Think well.</prompt>")
    words = len(candidate.document["prompt"]["system"].split())
    is_right = (trial.case * 7) % 11 < 2 * words
    told = Judgement("exact", float(is_right), is_right, "another number")
    return TrialScore(trial, value=float(is_right), answer="x" * words, judgements=(told,))


def play(run: Run, answer: Answer = by_its_words, until: int | None = None) -> Run:
    """All of it, or so many trials."""
    cases = list(run.dataset.cases.order_by("position"))
    strategy = configuration_now(run).begin(len(cases))
    session = Session(strategy)
    scores: list[TrialScore] = []
    while not session.is_finished and (until is None or len(scores) < until):
        known = {one.key: one for one in strategy.candidates}
        asked = session.plan(500 if until is None else min(500, until - len(scores)))
        known |= {one.key: one for one in strategy.candidates}
        found = [
            replace(answer(known[trial.candidate], trial), fields=cases[trial.case].fields)
            for trial in asked
        ]
        scores += found
        session.absorb_fresh(found)
    stored = set(run.candidates.values_list("key", flat=True))
    Candidate.objects.bulk_create(
        Candidate(run=run, position=place, key=one.key, name=one.name, document=one.document,
                  role=one.role)
        for place, one in enumerate(strategy.candidates)
        if one.key not in stored
    )  # fmt: skip
    candidates = {one.key: one for one in run.candidates.all()}
    for score in scores:
        one, value = candidates[score.trial.candidate], score.value or 0.0
        one.done, one.scored = one.done + 1, one.scored + 1
        one.value_sum, one.value_square_sum = one.value_sum + value, one.value_square_sum + value**2
    counters = ["done", "scored", "value_sum", "value_square_sum"]
    Candidate.objects.bulk_update(candidates.values(), counters, batch_size=200)
    Score.objects.bulk_create(
        new_score(
            run,
            cases[score.trial.case],
            candidates[score.trial.candidate],
            score.trial.position,
            repeat=score.trial.repeat,
            value=score.value,
            answer=score.answer,
            details=[list(one[:4]) for one in score.judgements],
        )
        for score in scores
    )
    run.asked = run.planned = len(scores)
    run.state = RunState.COMPLETED if session.is_finished else RunState.RUNNING
    run.chosen = strategy.best if session.is_finished else None
    run.started, run.ended = now(), now() if session.is_finished else None
    run.save()
    return run


def make_evolution(owner: User, *, until: int | None = None, **changes: Any) -> Run:
    return play(create_run(owner, evolution_document(**changes)), until=until)
