"""The page of an evolution: the generation under way, the best and its ancestors, what is saved."""

import re
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.timezone import now

from runs.models import Candidate, Run, RunState, Score
from runs.roles import Role
from runs.selectors.limits.limits import configuration_now
from runs.services.runs import create_run
from tests.harness.factories import client_of, make_dataset, make_person, new_score
from workers.engine.records import PROPOSE, Judgement, Trial
from workers.engine.records import Candidate as EngineCandidate
from workers.engine.records import Score as TrialScore
from workers.engine.session import Session

pytestmark = pytest.mark.django_db
LARGEST_PAGE = 150 * 1024  # bytes
FIRST = ["Answer.", "Just answer."]


def evolution_document(**changes: Any) -> dict[str, Any]:
    strategy: dict[str, Any] = {"population_size": 6, "elite_size": 2, "max_generations": 3}
    strategy |= {"target_fitness": None, "all_cases": True}
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


def by_its_words(candidate: EngineCandidate, trial: Trial) -> TrialScore:
    """As if more words were better, and a writer added two."""
    if candidate.role == PROPOSE:
        return TrialScore(trial, value=1.0, answer="<prompt>Answer. Think well.</prompt>")
    words = len(candidate.document["prompt"]["system"].split())
    is_right = (trial.case * 7) % 11 < 2 * words
    told = Judgement("exact", float(is_right), is_right, "another number")
    return TrialScore(trial, value=float(is_right), answer="x" * words, judgements=(told,))


def play(run: Run, answer: Any = by_its_words, until: int | None = None) -> Run:
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
    parts = ("key", "name", "document", "role")
    Candidate.objects.bulk_create(
        Candidate(run=run, position=place, **{part: getattr(one, part) for part in parts})
        for place, one in enumerate(strategy.candidates)
        if one.key not in stored
    )
    candidates = {one.key: one for one in run.candidates.all()}
    for score in scores:
        one, value = candidates[score.trial.candidate], score.value or 0.0
        one.done, one.scored = one.done + 1, one.scored + 1
        one.value_sum, one.value_square_sum = one.value_sum + value, one.value_square_sum + value**2
    counters = ["done", "scored", "value_sum", "value_square_sum"]
    Candidate.objects.bulk_update(candidates.values(), counters, batch_size=200)
    rows = []
    for score in scores:
        trial, judged = score.trial, [list(one[:4]) for one in score.judgements]
        place = cases[trial.case], candidates[trial.candidate], trial.position
        told: Any = {"value": score.value, "answer": score.answer, "details": judged}
        rows.append(new_score(run, *place, repeat=trial.repeat, **told))
    Score.objects.bulk_create(rows)
    run.asked = run.planned = len(scores)
    run.state = RunState.COMPLETED if session.is_finished else RunState.RUNNING
    run.chosen = strategy.best if session.is_finished else None
    run.started, run.ended = now(), now() if session.is_finished else None
    run.save()
    return run


def make_evolution(owner: User, *, until: int | None = None, **changes: Any) -> Run:
    return play(create_run(owner, evolution_document(**changes)), until=until)


@pytest.fixture
def ann(alice, endpoint):
    """Alice, with ten sums."""
    make_dataset(alice, rows=10)
    return alice


def page_of(person, run, **given):
    """As a person reads it: runs of blanks are one."""
    answer = client_of(person).get(reverse("run", args=[run.pk]), given)
    assert answer.status_code == 200
    return " ".join(answer.text.split())


def test_the_generation_under_way_fills_up(ann):
    run = make_evolution(ann, until=25)
    page = page_of(ann, run)
    assert "Generation 1 is being tried" in page
    told = re.search(r"0 of (\d+) genomes done; 25 of (\d+) trials\.", page)
    assert told is not None
    first = int(told[2])
    assert first == 10 * int(told[1])  # on ten cases
    assert "Its fitness is shown here" in page
    later = page_of(ann, make_evolution(ann, until=first + 2 + 5))
    assert "Generation 2 is being tried" in later
    assert "2 of 2 new prompts written" in later
    assert re.search(r"Best prompt so far: \S+", later)


def test_what_came_of_it_is_told(ann):
    run = make_evolution(ann, held_out=0.3)
    page = page_of(ann, run)
    assert "is being tried" not in page
    for text in (
        *("It ended since all 3 generations are done.", "Population of generation 3"),
        *("Fitness by generation", "Where the best came from"),
    ):
        assert text in page, text
    assert re.search(r"(not shown to be better|better) than p\d, the best that it began with", page)
    assert page.count("Save as a prompt") == 1
    assert page.count(" as a prompt: ") >= 2  # of the population
    older = page_of(ann, run, generation=1)
    assert "Population of generation 1" in older
    assert "Show the last" in older
    assert "Population of generation 3" in page_of(ann, run, generation=99)
    Run.objects.update(is_shared=True)
    viewer = make_person("vic", role=Role.VIEWER)
    assert "Save as a prompt" not in page_of(viewer, run)  # who may not is not offered it


def test_an_actor_and_critic_has_episodes(ann):
    hybrid = {"name": "hybrid", "population_size": 4, "num_candidates": 2, "update_interval": 3}
    document = evolution_document(operators=["sections"])
    document["strategy"] = {**hybrid, "max_episodes": 4, "evolution_interval": 2}
    run = play(create_run(ann, document))
    page = page_of(ann, run)
    assert "Fitness by episode" in page
    assert "Population of episode 4" in page
    assert "generation" not in re.sub(
        r"\?generation=\d+|<option.*?</option>|#?generations?\"", "", page
    )


def better_and_better(candidate: EngineCandidate, trial: Trial):
    """By the generation it was born in, as in g7.003, so that it never ends early."""
    born = int(candidate.name[1:].partition(".")[0]) if candidate.name[0] == "g" else 0
    return replace(by_its_words(candidate, trial), value=0.009 * born)


def test_a_large_evolution_fits_the_page(ann):
    # A page lists thirty; of a large elite few are new, so that less is played.
    strategy: Any = {"population_size": 34, "elite_size": 31, "max_generations": 100}
    strategy |= {"patience": None, "target_fitness": None, "least_diversity": 0}
    text = "Answer the question with care. " * 8
    prompts = [{"name": f"p{n}", "system": f"Number {n}. {text}"} for n in range(4)]
    make_dataset(ann, "two", rows=2)
    changes = {"dataset": "two", "prompts": prompts, "operators": ["words"]}
    document = evolution_document(**changes, strategy=strategy)
    run = play(create_run(ann, document), better_and_better)
    answer = client_of(ann).get(reverse("run", args=[run.pk]))
    assert answer.context["evolution"].current == 100
    assert len(answer.content) <= LARGEST_PAGE
    assert "more are less fit" in answer.text
