"""The new-run form for an evolution: what it sends, keeps, and says is wrong."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from runs.forms.new_run import NewRunInput
from runs.forms.starting_points import from_document
from runs.kinds.evolve.form import EvolutionSection
from runs.models import Endpoint, Run
from runs.selectors.estimates.estimate import estimate
from runs.selectors.named_parts import every_dataset
from runs.services.prompts import save_prompt
from runs.services.runs import create_run
from tests.harness.factories import client_of, make_dataset, make_endpoint, make_person
from workers.engine.kinds import read_configuration

pytestmark = pytest.mark.django_db

WRITER = {
    "endpoint": "simulated",
    "model": "sim-large",
    "parameters": {"temperature": 0.5},
}


@pytest.fixture
def ada() -> User:
    person = make_person("ada")
    make_endpoint()
    make_dataset(person, rows=10)
    return person


@pytest.fixture
def filled() -> dict[str, Any]:
    """What a browser sends."""
    return {
        "key": "key-1",
        "mode": "form",
        "kind": "evolve",
        "name": "breed",
        "dataset_source": "stored",
        "dataset": "sums",
        "prompts": ["0"],
        "prompt-0-name": "left over from another kind",
        "models": ["simulated/sim-large"],
        "strategy": "threshold",
        "first_prompts": ["0", "2", "5"],
        "first_prompt-0-name": "plain",
        "first_prompt-0-system": "Answer the question.",
        "first_prompt-2-name": "",  # a row that was not filled in
        "first_prompt-5-name": "short",
        "first_prompt-5-system": "Answer with the number only.",
        "first-user": "{{question}}",
        "evolve_model": "simulated/sim-small",
        "chance": "words",
        "writers": ["reflect", "combine"],
        "operator-reflect-weight": "2",
        "operator-reflect-failures": "4",
        "operator-combine-weight": "1",
        "operator-words-weight": "1",
        "writer_model": "simulated/sim-large",
        "evolution": "genetic",
        "evolution-genetic-preset": "reflective",
        "evolution-genetic-population_size": "50",
        "evolution-genetic-max_generations": "4",
        "evolution-genetic-target_fitness": "none",
        "evolution-genetic-selection": "tournament",
        "evolution-genetic-crossover": "single_point",
        "evolution-genetic-fill": "mutated",
        "evolution-genetic-adaptive": "on",
        "evolution-hybrid-max_episodes": "9",
        "parameter-temperature": "0.5",
        "scorers": ["exact"],
        "scorer-exact-strip": "on",
        "repeats": "1",
        "held_out": "0.2",
        "seed": "7",
        "preset": "balanced",
        "cache": "use",
    }


DOCUMENT: dict[str, Any] = {
    "name": "breed",
    "kind": "evolve",
    "seed": 7,
    "dataset": "sums@1",
    "prompts": [
        {"name": "plain", "system": "Answer the question.", "user": "{{question}}"},
        {"name": "short", "system": "Answer with the number only.", "user": "{{question}}"},
    ],
    "models": [{"endpoint": "simulated", "model": "sim-small", "parameters": {"temperature": 0.5}}],
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


def section_of(filled: NewRunInput) -> EvolutionSection:
    own = filled.sections["evolve"]
    assert isinstance(own, EvolutionSection)
    return own


def test_a_filled_form_becomes_the_evolution_it_describes(
    ada: User, filled: dict[str, Any]
) -> None:
    answer = client_of(ada).post(reverse("run_new"), filled)
    run = Run.objects.get()
    assert answer["Location"] == run.get_absolute_url()
    assert run.document == {**DOCUMENT, "expected": "expected"}


def test_a_duplicate_is_shown_in_the_form_again(ada: User) -> None:
    run = create_run(ada, DOCUMENT)
    page = client_of(ada).get(reverse("run_new"), {"run": run.pk})
    shown = page.context["filled"]
    assert (shown.mode, shown.kind) == ("form", "evolve")
    given = {**DOCUMENT, "dataset": "sums"}
    assert read_configuration(shown.document()) == read_configuration(given)
    text = page.content.decode()
    assert 'name="evolution-genetic-target_fitness" value="none"' in text
    assert 'name="evolution-genetic-elite_size" value=""' in text
    assert 'placeholder="1"' in text  # the elite of the preset


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"strategy": "genetic"}, id="no options"),
        pytest.param({"strategy": {"name": "genetic", "preset": "random_search"}}, id="a preset"),
        pytest.param({"strategy": {"name": "genetic", "patience": None, "gate": 3}}, id="null"),
        pytest.param(
            {"strategy": {"name": "genetic", "adaptive": False, "selection": "sus"}}, id="more"
        ),
        pytest.param({"strategy": {"name": "hybrid", "num_candidates": 3}}, id="hybrid"),
        pytest.param({"operators": []}, id="those that it comes with"),
        pytest.param({"operators": ["sections"]}, id="sections"),
        pytest.param({"operators": [{"reflect": {"failures": 2}}]}, id="no writer of its own"),
        pytest.param({"prompts": [{"name": "a", "system": "A."}]}, id="the usual user message"),
        pytest.param(
            {"prompts": [{"name": "a", "user": "Q: {{question}}"}, {"name": "b", "system": "B."}]},
            id="the user message of the first counts",
        ),
        pytest.param({"prompts": [{"library": "terse"}]}, id="of the library"),
    ],
)
def test_what_the_form_can_say_goes_through_it_unchanged(changes: dict[str, Any]) -> None:
    plain = {**DOCUMENT, "models": ["simulated/sim-small"], "operators": ["words"], **changes}
    shown = from_document(plain)
    assert shown.mode == "form"
    sent, meant = read_configuration(shown.document()), read_configuration(plain)
    assert EvolutionSection.meaning(sent) == EvolutionSection.meaning(meant)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(
            {"operators": [{"reflect": {"model": WRITER}}, "combine"]}, id="writers that differ"
        ),
        pytest.param({"strategy": {"name": "genetic", "fitness": {"accuracy": 1}}}, id="weights"),
        pytest.param(
            {"strategy": {"name": "genetic", "is_random_search": True}}, id="a switch of presets"
        ),
        pytest.param({"operators": ["combine", "reflect"]}, id="an order of its own"),
    ],
)
def test_what_the_form_cannot_say_is_shown_as_yaml(changes: dict[str, Any]) -> None:
    shown = from_document({**DOCUMENT, "models": ["simulated/sim-small"], **changes})
    assert (shown.mode, shown.kind) == ("yaml", "evaluate")
    assert "kind: evolve" in shown.yaml


@pytest.mark.parametrize(
    ("changes", "field", "label", "message"),
    [
        ({"evolution-genetic-population_size": "1"}, "id_evolution-genetic-population_size",
         "Strategy, population size", "greater than or equal to 2"),
        ({"evolution-genetic-gate": "few"}, "id_evolution-genetic-gate",
         "Strategy, gate", "valid integer"),
        ({"evolution-genetic-elite_size": "60"}, "id_evolution", "Strategy", "nobody new"),
        ({"evolution": "luck"}, "id_evolution", "Strategy", "Choose one of: genetic"),
        ({"operator-reflect-weight": "0"}, "id_operator-reflect-weight",
         "Operator reflect, weight", "greater than 0"),
        ({"writer_model": "elsewhere/x"}, "id_writer_model", "Model that writes", "elsewhere"),
        ({"evolve_model": ""}, "id_evolve_models", "Model", "Choose at least one model."),
        ({"first_prompts": []}, "id_first_prompts", "First prompts", "at least one prompt"),
        ({"first_prompt-5-system": "Answer the question."}, "id_first_prompts", "First prompts",
         "twice"),
        ({"first_prompt-5-name": ""}, "id_first_prompt-5-name", "First prompt 2, name",
         "Enter a name."),
        ({"first_prompt-5-system": "{{qestion}}"}, "id_first_prompt-5-system",
         "First prompt 2, system", "qestion"),
        ({"first-user": "{{qestion}}"}, "id_first-user", "User message", "qestion"),
        ({"first_prompt-5-library": "absent"}, "id_first_prompt-5-library",
         "First prompt 2, library", "no prompt 'absent'"),
    ],
)  # fmt: skip
def test_a_problem_points_to_its_field(
    ada: User, filled: dict[str, Any], changes: dict[str, Any], field: str, label: str, message: str
) -> None:
    page = client_of(ada).post(reverse("run_new"), {**filled, **changes})
    assert page.status_code == 400
    found = [(one.field, one.label) for one in page.context["problems"] if message in one.message]
    assert found == [(field, label)], page.context["problems"]
    assert f'id="{field}"' in page.content.decode()


def test_rows_are_added_and_removed_without_scripts(ada: User, filled: dict[str, Any]) -> None:
    client = client_of(ada)
    page = client.post(reverse("run_new"), {**filled, "add_first_prompt": "1"})
    assert [row.index for row in section_of(page.context["filled"]).prompts] == [0, 2, 5, 6]
    page = client.post(reverse("run_new"), {**filled, "remove_first_prompt": "5"})
    assert [row.index for row in section_of(page.context["filled"]).prompts] == [0, 2]
    assert not Run.objects.exists()


def test_a_prompt_of_the_library_is_frozen_into_the_run(ada: User, filled: dict[str, Any]) -> None:
    save_prompt(ada, "terse", {"system": "Be terse.", "user": "{{question}}"})
    client_of(ada).post(reverse("run_new"), {**filled, "first_prompt-0-library": "terse"})
    first = Run.objects.get().document["prompts"][0]
    assert (first["system"], first["library"], first["version"]) == ("Be terse.", "terse", 1)


def test_an_estimate_tells_least_and_most_and_what_proposals_cost(
    ada: User, filled: dict[str, Any]
) -> None:
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
    page = client_of(ada).post(reverse("run_estimate"), filled).content.decode()
    assert "ask a model for new prompts" in page
    assert "no generation is left out" in page
    few = {"name": "hybrid", "max_episodes": 2, "update_interval": 2}
    hybrid = estimate({**DOCUMENT, "strategy": few}, every_dataset())
    assert "first episode" in hybrid.bounds_text
