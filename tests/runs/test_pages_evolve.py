"""The page of an evolution: the generation under way, the best and its ancestors, what is saved."""

import re
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from runs.forms.new_run import read_post
from runs.forms.starting_points import from_document
from runs.kinds.evolve.curve import draw
from runs.kinds.evolve.form import EvolutionSection
from runs.models import Endpoint, Run
from runs.roles import Role
from runs.selectors.estimates.estimate import estimate
from runs.selectors.named_parts import every_dataset
from runs.services.prompts import save_prompt
from runs.services.runs import create_run
from tests.harness.factories import client_of, make_dataset, make_person
from tests.runs.comparing_parts import play
from tests.runs.conftest import page_of
from tests.runs.new_run_parts import posted, problems_of, read_form, sent_by
from workers.engine.kinds import read_configuration
from workers.engine.kinds.evolve.report import GenerationRow
from workers.engine.records import PROPOSE, Judgement, Trial
from workers.engine.records import Candidate as EngineCandidate
from workers.engine.records import Score as TrialScore

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


def play_evolution(run: Run, answer: Any = by_its_words, until: int | None = None) -> Run:
    def outcome(trial: Trial) -> TrialScore:
        score: TrialScore = answer(run.candidates.get(key=trial.candidate).as_engine, trial)
        return score

    return play(run, outcome, until)


def make_evolution(owner: User, *, until: int | None = None, **changes: Any) -> Run:
    return play_evolution(create_run(owner, evolution_document(**changes)), until=until)


@pytest.fixture
def ann(alice, endpoint):
    """Alice, with ten sums."""
    make_dataset(alice, rows=10)
    return alice


def test_the_generation_under_way_fills_up(ann):
    run = make_evolution(ann, until=25, limits={"max_concurrent": 4})
    page = page_of(ann, run)
    assert "Generation 1 is being tried" in page
    told = re.search(rf"0 of (\d+) genomes done; {run.done} of (\d+) trials\.", page)
    assert told is not None
    first = int(told[2])
    assert first == 10 * int(told[1])  # on ten cases
    assert "Its fitness is shown here" in page
    later = page_of(ann, play_evolution(run, until=first + 1))
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
    told = re.search(r"(not shown to be better|better) than p\d, the best that it began with", page)
    assert told
    assert ("confirmed</span>" in page) is (told[1] == "better")
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
    page = page_of(ann, play_evolution(create_run(ann, document)))
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
    changes = {"dataset": "two", "prompts": prompts, "operators": ["words"], "strategy": strategy}
    run = play_evolution(create_run(ann, evolution_document(**changes)), better_and_better)
    answer = client_of(ann).get(reverse("run", args=[run.pk]))
    assert answer.context["evolution"].current == 100
    assert len(answer.content) <= LARGEST_PAGE
    assert "more are less fit" in answer.text


def row(number, low, best):
    return GenerationRow(
        number=number, asked=10, evaluations=10, cases=5, genomes=2, failed=0, gated=0, best=best,
        best_so_far=best, mean=(low + best) / 2, low=low, high=best, diversity=0.5,
        crossover_rate=0.8, mutation_rate=0.2,
    )  # fmt: skip


def test_the_axis_begins_below_the_lowest_value_and_says_so():
    for values, begins, first in (
        ([(0.62, 0.7), (0.7, 0.93)], "0.6", "0.6"),  # near each other
        ([(0.02, 0.4), (0.3, 0.93)], "", "0"),  # from next to nothing
    ):
        curve = draw([row(number, *pair) for number, pair in enumerate(values)], "generation")
        assert (curve.begins, curve.y_ticks[0].text) == (begins, first)
        path = curve.lines[-1].path.split()
        assert min(float(part.partition("V")[2]) for part in path if "V" in part) < 20


# --- The new-run form: what it sends, keeps, and says is wrong

WRITER = {"endpoint": "simulated", "model": "sim-large", "parameters": {"temperature": 0.5}}
DOCUMENT: dict[str, Any] = {
    "name": "breed",
    "kind": "evolve",
    "seed": 7,
    "dataset": "sums@1",
    "prompts": [
        {"name": "plain", "system": "Answer the question.", "user": "{{question}}"},
        {"name": "short", "system": "Answer with the number only.", "user": "{{question}}"},
    ],
    "models": [{**WRITER, "model": "sim-small"}],
    "operators": [
        "words",
        {"reflect": {"weight": 2, "model": WRITER}},
        {"combine": {"model": WRITER}},
    ],
    "strategy": {
        "name": "genetic",
        "preset": "reflective",
        "population_size": 50,  # the default, but not that of the preset
        "max_generations": 4,
        "target_fitness": None,
    },
    "repeats": 1,
    "held_out": 0.2,
    "scorers": ["exact"],
    "limits": {"preset": "balanced"},
    "cache": "use",
}


@pytest.fixture
def browser(alice, endpoint):
    make_dataset(alice, rows=10)
    return client_of(alice)


def shown_again(browser, alice):
    """The page of a form that is filled in with the document."""
    return browser.get(reverse("run_new"), {"run": create_run(alice, DOCUMENT).pk})


def test_what_the_page_shows_of_an_evolution_launches_it_again(alice, browser):
    page = shown_again(browser, alice)
    shown, text = page.context["filled"], page.text
    assert (shown.mode, shown.kind) == ("form", "evolve")
    assert 'name="evolution-genetic-target_fitness" value="none"' in text
    assert 'name="evolution-genetic-elite_size" value=""' in text
    assert 'placeholder="1"' in text  # the elite of the preset
    save_prompt(alice, "terse", {"system": "Be terse.", "user": "{{question}}"})
    empty = {"first_prompts": ["0", "1", "2"], "first_prompt-2-name": ""}  # it is not filled in
    answer = browser.post(reverse("run_new"), {**sent_by(text), **empty})
    run = Run.objects.latest("pk")
    assert answer["Location"] == run.get_absolute_url()
    assert run.document == {**DOCUMENT, "expected": "expected"}
    named = read_form({**sent_by(text), "first_prompt-0-library": "terse"}).document()
    first = create_run(alice, named).document["prompts"][0]  # what it names is frozen
    assert (first["system"], first["library"], first["version"]) == ("Be terse.", "terse", 1)
    panel = browser.post(reverse("run_estimate"), sent_by(text)).text
    assert "ask a model for new prompts" in panel
    assert "no generation is left out" in panel


PLAIN = {**DOCUMENT, "models": ["simulated/sim-small"], "operators": ["words"]}
FORM: dict[str, dict[str, Any]] = {
    "no options": {"strategy": "genetic"},
    "a preset": {"strategy": {"name": "genetic", "preset": "random_search"}},
    "null": {"strategy": {"name": "genetic", "patience": None, "gate": 3}},
    "more": {"strategy": {"name": "genetic", "adaptive": False, "selection": "sus"}},
    "hybrid": {"strategy": {"name": "hybrid", "num_candidates": 3}},
    "those that it comes with": {"operators": []},
    "sections": {"operators": ["sections"]},
    "no writer of its own": {"operators": [{"reflect": {"failures": 2}}]},
    "the usual user message": {"prompts": [{"name": "a", "system": "A."}]},
    "the user message of the first counts": {
        "prompts": [{"name": "a", "user": "Q: {{question}}"}, {"name": "b", "system": "B."}]
    },
    "of the library": {"prompts": [{"library": "terse"}]},
}
YAML: dict[str, dict[str, Any]] = {
    "writers that differ": {"operators": [{"reflect": {"model": WRITER}}, "combine"]},
    "weights": {"strategy": {"name": "genetic", "fitness": {"accuracy": 1}}},
    "a switch of presets": {"strategy": {"name": "genetic", "is_random_search": True}},
    "an order of its own": {"operators": ["combine", "reflect"]},
}


def test_what_the_form_can_say_goes_through_it_and_the_rest_is_yaml():
    def meaning(document):
        read: Any = read_configuration(document)
        return EvolutionSection.meaning(read)

    for name, changes in FORM.items():
        shown = from_document({**PLAIN, **changes})
        assert shown.mode == "form", name
        assert meaning(shown.document()) == meaning({**PLAIN, **changes}), name
    for name, changes in YAML.items():
        shown = from_document({**PLAIN, **changes})
        assert (shown.mode, shown.kind) == ("yaml", "evaluate"), name
        assert "kind: evolve" in shown.yaml, name


# What is typed into which field, where that is wrong (there, unless said), and how it is told.
PROBLEMS: list[tuple[str, Any, str, str, str]] = [
    ("evolution-genetic-population_size", "1", "", "Strategy, population size", "equal to 2"),
    ("evolution-genetic-gate", "few", "", "Strategy, gate", "valid integer"),
    ("evolution-genetic-elite_size", "60", "evolution", "Strategy", "nobody new"),
    ("evolution", "luck", "", "Strategy", "Choose one of: genetic"),
    ("operator-reflect-weight", "0", "", "Operator reflect, weight", "greater than 0"),
    ("writer_model", "elsewhere/x", "", "Model that writes", "elsewhere"),
    ("evolve_model", "", "evolve_models", "Model", "Choose at least one model."),
    ("first_prompts", [], "", "First prompts", "at least one prompt"),
    (
        "first_prompt-1-system",
        "Answer the question.",
        "first_prompts",
        "First prompts",
        "same system message",
    ),
    ("first_prompt-1-name", "", "", "First prompt 2, name", "Enter a name."),
    ("first_prompt-1-system", "{{qestion}}", "", "First prompt 2, system", "qestion"),
    ("first-user", "{{qestion}}", "", "User message", "qestion"),
    ("first_prompt-1-library", "absent", "", "First prompt 2, library", "no prompt 'absent'"),
]


def test_a_problem_points_to_its_field_and_rows_are_added_without_scripts(alice, browser):
    save_prompt(alice, "terse", {"user": "{{question}}"})  # only then the library is offered
    page = shown_again(browser, alice).text
    sent = sent_by(page)
    for name, typed, place, label, message in PROBLEMS:
        problems = problems_of(alice, {**sent, name: typed})
        found = [one[:2] for one in problems if message in one.message]
        field = f"id_{place or name}"
        assert found == [(field, label)], (name, typed, problems)
        assert f'id="{field}"' in page
    refused = browser.post(reverse("run_new"), {**sent, name: typed})
    assert (refused.status_code, f'href="#{field}"' in refused.text) == (400, True)
    assert Run.objects.count() == 1
    for button, rows in (("add_first_prompt", [0, 1, 2]), ("remove_first_prompt", [0])):
        post = posted({**sent, button: "1"})
        shown: Any = read_post(post)
        assert shown.section.change_rows(post)
        assert [row.index for row in shown.sections["evolve"].prompts] == rows


@pytest.mark.usefixtures("browser")
def test_an_estimate_tells_least_and_most_and_what_proposals_cost():
    Endpoint.objects.update(
        prices={"sim-small": {"input": 1, "output": 1}, "sim-large": {"input": 100, "output": 100}}
    )
    strategy = {**DOCUMENT["strategy"], "population_size": 8, "elite_size": 4}
    found = estimate({**DOCUMENT, "strategy": strategy}, every_dataset())
    assert not found.problems
    confirming = 2 * 2  # the best and the best of the first, on two cases
    assert (found.trials_low, found.trials) == (2 * 4, (2 + 3 * 4) * 8)  # two first prompts
    assert found.proposals == 3 * 3  # of four children three are written, in three generations
    assert found.calls_low == found.trials_low + confirming
    assert found.calls_to_send == found.trials + found.proposals + confirming
    assert found.seconds_high >= 4 * 2  # generations follow each other: one writes, one answers
    dear = float(found.proposals_cost_text.removeprefix("at most $"))
    assert 0 < dear < found.dollars
    assert dear > 0.5 * found.dollars  # few calls, but of a model a hundred times as dear
    few = {"name": "hybrid", "max_episodes": 2, "update_interval": 2}
    assert "first episode" in estimate({**DOCUMENT, "strategy": few}, every_dataset()).bounds_text
