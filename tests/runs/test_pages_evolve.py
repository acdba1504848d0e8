"""The page of an evolution: the generation under way, the best and its ancestors, what is saved."""

import re
from dataclasses import replace

import pytest
from django.urls import reverse

from runs.models import Run
from runs.roles import Role
from runs.services.runs import create_run
from tests.harness.factories import client_of, make_dataset, make_person
from tests.runs.evolution_parts import by_its_words, evolution_document, make_evolution, play
from workers.engine.records import Candidate, Trial

pytestmark = pytest.mark.django_db
LARGEST_PAGE = 150 * 1024  # bytes


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
    assert "It ended since all 3 generations are done." in page
    assert "Population of generation 3" in page
    assert "Fitness by generation" in page
    assert "Where the best came from" in page
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


def better_and_better(candidate: Candidate, trial: Trial):
    """By the generation it was born in, as in g7.003, so that it never ends early."""
    born = int(candidate.name[1:].partition(".")[0]) if candidate.name[0] == "g" else 0
    return replace(by_its_words(candidate, trial), value=0.009 * born)


def test_a_large_evolution_fits_the_page(ann):
    strategy = {
        "population_size": 34,  # a page lists thirty
        "elite_size": 31,  # so that few are new: a page shows as many, and less is played
        "max_generations": 100,
        "patience": None,
        "target_fitness": None,
        "least_diversity": 0,
    }
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
