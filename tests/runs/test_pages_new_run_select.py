"""The new-run form for a choice among combinations: what it sends, keeps, and says is wrong."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.urls import reverse

from runs.forms.new_run import NewRunInput, read_post
from runs.forms.starting_points import from_document
from runs.kinds.select.form import StepsSection
from runs.models import Run
from runs.services.runs import create_run
from tests.harness.factories import client_of, make_dataset, make_endpoint, make_person
from workers.engine.kinds import read_configuration
from workers.engine.strategies import SELECTIONS

pytestmark = pytest.mark.django_db

MODELS = ["simulated/sim-small", "simulated/sim-large"]


def section_of(filled: NewRunInput) -> StepsSection:
    own = filled.sections["select"]
    assert isinstance(own, StepsSection)
    return own


@pytest.fixture
def ada() -> User:
    person = make_person("ada")
    make_endpoint()
    make_dataset(person)
    return person


@pytest.fixture
def filled() -> dict[str, Any]:
    """What a browser sends."""
    return {
        "key": "key-1",
        "mode": "form",
        "kind": "select",
        "name": "pick",
        "dataset_source": "stored",
        "dataset": "sums",
        "prompts": ["0"],
        "prompt-0-name": "left over from the other kind",
        "steps": ["0", "3"],
        "step-0-name": "planner",
        "step-0-system": "Plan.",
        "step-0-user": "{{question}}",
        "step-0-models": MODELS,
        "step-3-name": "solver",
        "step-3-user": "{{planner}}: {{question}}",
        "step-3-models": MODELS[:1],
        "step-3-other_models": "simulated/other\n",
        "strategy": "threshold",
        "strategy-threshold-threshold": "0.8",
        "strategy-threshold-confidence": "1",
        "strategy-arm_elimination-growth": "9",
        "objective-lambda_cost": "0.25",
        "objective-lambda_latency": "0",
        "parameter-temperature": "0.5",
        "scorers": ["exact"],
        "scorer-exact-strip": "on",
        "repeats": "1",
        "seed": "7",
        "preset": "balanced",
        "cache": "use",
    }


def model(label: str) -> dict[str, Any]:
    endpoint, _, name = label.partition("/")
    return {"endpoint": endpoint, "model": name, "parameters": {"temperature": 0.5}}


DOCUMENT = {
    "name": "pick",
    "kind": "select",
    "seed": 7,
    "dataset": "sums@1",
    "steps": [
        {
            "name": "planner",
            "system": "Plan.",
            "user": "{{question}}",
            "models": [model(label) for label in MODELS],
        },
        {
            "name": "solver",
            "system": "",
            "user": "{{planner}}: {{question}}",
            "models": [model("simulated/sim-small"), model("simulated/other")],
        },
    ],
    "strategy": {"name": "threshold", "threshold": 0.8},
    "objective": {"lambda_cost": 0.25},
    "repeats": 1,
    "scorers": ["exact"],
    "limits": {"preset": "balanced"},
    "cache": "use",
}


def test_a_filled_form_becomes_the_choice_it_describes(ada: User, filled: dict[str, Any]) -> None:
    answer = client_of(ada).post(reverse("run_new"), filled)
    run = Run.objects.get()
    assert answer["Location"] == run.get_absolute_url()
    assert run.document == {**DOCUMENT, "expected": "expected"}
    assert run.candidates.count() == 4


def test_a_duplicate_is_shown_in_the_form_again(ada: User) -> None:
    run = create_run(ada, DOCUMENT)
    page = client_of(ada).get(reverse("run_new"), {"run": run.pk})
    shown = page.context["filled"]
    assert (shown.mode, shown.kind) == ("form", "select")
    assert shown.dataset == run.dataset.name
    given = {**DOCUMENT, "dataset": run.dataset.name}
    assert read_configuration(shown.document()) == read_configuration(given)
    assert [step.name for step in section_of(shown).steps] == ["planner", "solver"]
    assert "simulated/other" in page.content.decode()


@pytest.mark.parametrize("name", SELECTIONS)
def test_every_strategy_is_offered_and_goes_through_the_form_unchanged(
    ada: User, name: str
) -> None:
    given = {**DOCUMENT, "strategy": {"name": name, "confidence": 1.5, "budget": 40}}
    shown = from_document(given)
    assert shown.mode == "form"
    assert shown.document()["strategy"] == {"name": name, "confidence": 1.5, "budget": 40}
    page = client_of(ada).get(reverse("run_new"), {"kind": "select"}).content.decode()
    assert f'name="strategy" value="{name}"' in page
    assert f'name="strategy-{name}-confidence"' in page


def test_parameters_of_single_models_go_through_the_form() -> None:
    first = {**DOCUMENT["steps"][0], "models": [MODELS[0], model(MODELS[1])]}  # type: ignore[index]
    given = {**DOCUMENT, "steps": [first]}
    shown = from_document(given)
    assert shown.mode == "form"
    assert shown.parameters.own == "simulated/sim-large:\n  temperature: 0.5\n"
    assert read_configuration(shown.document()) == read_configuration(given)


def test_a_model_with_different_parameters_in_two_steps_is_shown_as_yaml() -> None:
    plain = {**DOCUMENT["steps"][1], "models": MODELS}  # type: ignore[index]
    shown = from_document({**DOCUMENT, "steps": [DOCUMENT["steps"][0], plain]})  # type: ignore[index]
    assert shown.mode == "yaml"


CALL = {"name": "draft", "user": "{{question}}", "models": MODELS}
AGENT = {"name": "planner", "agent": "self_consistency", "calls": [CALL]}
SOLVER = {"name": "solver", "user": "{{planner}}", "models": MODELS}


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(
            [{**CALL, "routes": {"no": "solver"}}, SOLVER],
            id="router",
        ),
        pytest.param(
            [{**CALL, "routes": {"easy: or so": "solver"}, "default": "solver"}, SOLVER],
            id="router with a default",
        ),
        pytest.param([AGENT, SOLVER], id="agent"),
        pytest.param(
            [{**AGENT, "options": {"samples": 3}, "routes": {"a": "solver"}}, SOLVER],
            id="agent with options that routes",
        ),
        pytest.param(
            [{**AGENT, "calls": [CALL, {**CALL, "name": "revise", "system": "Check."}]}, SOLVER],
            id="agent with two calls",
        ),
        pytest.param([AGENT, {**AGENT, "name": "again"}, SOLVER], id="two agents"),
    ],
)
def test_routers_and_agents_go_through_the_form(steps: list[dict[str, Any]]) -> None:
    given = {**DOCUMENT, "steps": steps}
    shown = from_document(given)
    assert shown.mode == "form"
    assert read_configuration(shown.document()) == read_configuration(given)


def test_an_agent_is_launched_from_the_form(ada: User, filled: dict[str, Any]) -> None:
    agent = {"agent": "self_consistency", "call": "draft", "agent_options": "samples: 3"}
    typed = {f"step-0-{name}": text for name, text in agent.items()}
    client_of(ada).post(reverse("run_new"), {**filled, **typed})
    first, second = Run.objects.get().document["steps"]
    assert (first["agent"], first["options"]) == ("self_consistency", {"samples": 3})
    assert [call["name"] for call in first["calls"]] == ["draft"]
    assert second["name"] == "solver"


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"step-0-routes": "easy: nowhere"}, "id_step-0-routes"),
        ({"step-0-default": "solver"}, "id_step-0-default"),
        ({"step-0-agent": "gone", "step-0-call": "draft"}, "id_step-0-agent"),
        ({"step-0-agent": "self_consistency", "step-0-call": "other"}, "id_step-0-call"),
        (
            {
                "step-0-agent": "self_consistency",
                "step-0-call": "draft",
                "step-0-agent_options": "samples: many",
            },
            "id_step-0-agent_options",
        ),
        ({"step-3-user": "{{nobody}}"}, "id_step-3-user"),
    ],
)
def test_what_is_wrong_with_a_step_is_said_beside_its_field(
    ada: User, filled: dict[str, Any], typed: dict[str, str], field: str
) -> None:
    answer = client_of(ada).post(reverse("run_new"), {**filled, **typed})
    assert field in [problem.field for problem in answer.context["problems"]]


def test_a_blank_form_takes_the_recommended_strategy(ada: User) -> None:
    answer = client_of(ada).get(reverse("run_new"), {"kind": "select"})
    shown = answer.context["filled"]
    assert section_of(shown).strategy == "paired_elimination"
    assert shown.document()["strategy"] == "paired_elimination"
    assert "objective" not in shown.document()
    page = answer.content.decode()
    names = re.findall(r'name="strategy" value="(\w+)"', page)
    assert names[0] == "paired_elimination"
    assert sorted(names) == sorted(SELECTIONS)
    assert "Paired elimination (recommended)" in page
    assert "Weight of cost" in page
    fields = page[page.index('id="id_strategy"') : page.index('id="id_prompts"')]
    assert "lambda" not in re.sub(r"<[^>]+>", "", fields)  # names of the YAML are no labels


def test_the_default_of_documents_stays() -> None:
    document = {name: value for name, value in DOCUMENT.items() if name != "strategy"}
    assert section_of(from_document(document)).strategy == "arm_elimination"


def test_steps_are_added_and_removed_without_a_script(ada: User, filled: dict[str, Any]) -> None:
    client = client_of(ada)
    more = client.post(reverse("run_new"), {**filled, "add_step": "1"}).context["filled"]
    assert [step.index for step in section_of(more).steps] == [0, 3, 4]
    less = client.post(reverse("run_new"), {**filled, "remove_step": "0"}).context["filled"]
    assert [step.name for step in section_of(less).steps] == ["solver"]
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        pytest.param({"steps": []}, "id_steps", "at least one step", id="no step"),
        pytest.param(
            {"step-0-models": []}, "id_step-0-models", "at least one model", id="no model"
        ),
        pytest.param({"step-3-name": "2 b"}, "id_step-3-name", "match", id="odd name"),
        pytest.param({"step-3-user": "{{nobody}}"}, "id_step-3-user", "nobody", id="template"),
        pytest.param({"strategy": "luck"}, "id_strategy", "Choose one of", id="strategy"),
        pytest.param(
            {"strategy-threshold-threshold": "high"}, "id_strategy", "threshold", id="option"
        ),
        pytest.param(
            {"objective-lambda_cost": "-1"},
            "id_objective-lambda_cost",
            "greater than or equal to 0",
            id="aim",
        ),
        pytest.param(
            {"parameter-temperature": "hot"}, "id_parameters", "temperature", id="parameter"
        ),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_nothing_is_lost(
    ada: User, filled: dict[str, Any], changes: dict[str, Any], field: str, says: str
) -> None:
    answer = client_of(ada).post(reverse("run_new"), {**filled, **changes})
    assert answer.status_code == 400
    found = [problem for problem in answer.context["problems"] if problem.field == field]
    assert any(says in problem.message for problem in found), answer.context["problems"]
    assert f'id="{field}"' in answer.content.decode()
    assert not Run.objects.exists()


def test_the_estimate_follows_the_steps(ada: User, filled: dict[str, Any]) -> None:
    panel = client_of(ada).post(reverse("run_estimate"), filled).content.decode()
    assert "4 combinations × 3 cases" in panel
    assert "12 trials</b>" in panel


def test_steps_are_read_in_the_order_of_their_numbers() -> None:
    post = QueryDict("kind=select&steps=4&steps=1&steps=x&step-4-name=b&step-1-name=a")
    assert [step.name for step in section_of(read_post(post)).steps] == ["a", "b"]
