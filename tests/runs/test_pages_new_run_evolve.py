"""The new-run form for an evolution: what it sends, keeps, and says is wrong."""

from typing import Any

import pytest
from django.urls import reverse

from runs.forms.new_run import read_post
from runs.forms.starting_points import from_document
from runs.kinds.evolve.form import EvolutionSection
from runs.models import Endpoint, Run
from runs.selectors.estimates.estimate import estimate
from runs.selectors.named_parts import every_dataset
from runs.services.prompts import save_prompt
from runs.services.runs import create_run
from tests.harness.factories import client_of, make_dataset
from tests.runs.new_run_parts import posted, problems_of, read_form, sent_by
from workers.engine.kinds import read_configuration

pytestmark = pytest.mark.django_db

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
    run = create_run(alice, DOCUMENT)
    return browser.get(reverse("run_new"), {"run": run.pk})


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
    ("first_prompt-1-system", "Answer the question.", "first_prompts", "First prompts", "twice"),
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
    dear = float(found.proposals_cost_text.removeprefix("at most $"))
    assert 0 < dear < found.dollars
    assert dear > 0.5 * found.dollars  # few calls, but of a model a hundred times as dear
    few = {"name": "hybrid", "max_episodes": 2, "update_interval": 2}
    hybrid = estimate({**DOCUMENT, "strategy": few}, every_dataset())
    assert "first episode" in hybrid.bounds_text
