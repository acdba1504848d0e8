"""The new-run form for a choice among combinations: what it sends, keeps, and says is wrong."""

import re
from typing import Any

import pytest
from django.http import QueryDict
from django.urls import reverse

from runs.forms.new_run import read_post
from runs.forms.starting_points import from_document
from runs.models import Run
from runs.services.runs import create_run
from tests.harness.factories import client_of
from workers.engine.kinds import read_configuration
from workers.engine.strategies import SELECTIONS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("dataset")]

MODELS = ["simulated/sim-small", "simulated/sim-large"]
# What a browser sends.
FILLED = {
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


@pytest.fixture
def browser(alice):
    return client_of(alice)


def launch(browser, **changes):
    return browser.post(reverse("run_new"), {**FILLED, **changes})


def section_of(filled):
    return filled.sections["select"]


def model(label):
    endpoint, _, name = label.partition("/")
    return {"endpoint": endpoint, "model": name, "parameters": {"temperature": 0.5}}


DOCUMENT: dict[str, Any] = {
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


def test_a_filled_form_becomes_the_choice_it_describes(browser):
    answer = launch(browser)
    run = Run.objects.get()
    assert answer["Location"] == run.get_absolute_url()
    assert run.document == {**DOCUMENT, "expected": "expected"}
    assert run.candidates.count() == 4


def test_a_duplicate_is_shown_in_the_form_again(alice, browser):
    run = create_run(alice, DOCUMENT)
    page = browser.get(reverse("run_new"), {"run": run.pk})
    shown = page.context["filled"]
    assert (shown.mode, shown.kind) == ("form", "select")
    assert shown.dataset == run.dataset.name
    given = {**DOCUMENT, "dataset": run.dataset.name}
    assert read_configuration(shown.document()) == read_configuration(given)
    assert [step.name for step in section_of(shown).steps] == ["planner", "solver"]
    assert "simulated/other" in page.content.decode()


def test_every_strategy_is_offered_and_goes_through_the_form_unchanged(browser):
    page = browser.get(reverse("run_new"), {"kind": "select"}).content.decode()
    for name in SELECTIONS:
        strategy = {"name": name, "confidence": 1.5, "budget": 40}
        shown = from_document({**DOCUMENT, "strategy": strategy})
        assert (shown.mode, shown.document()["strategy"]) == ("form", strategy)
        assert f'name="strategy" value="{name}"' in page
        assert f'name="strategy-{name}-confidence"' in page


def test_parameters_of_single_models_go_through_the_form():
    first = {**DOCUMENT["steps"][0], "models": [MODELS[0], model(MODELS[1])]}
    given = {**DOCUMENT, "steps": [first]}
    shown = from_document(given)
    assert shown.mode == "form"
    assert shown.parameters.own == "simulated/sim-large:\n  temperature: 0.5\n"
    assert read_configuration(shown.document()) == read_configuration(given)


def test_a_model_with_different_parameters_in_two_steps_is_shown_as_yaml():
    plain = {**DOCUMENT["steps"][1], "models": MODELS}
    shown = from_document({**DOCUMENT, "steps": [DOCUMENT["steps"][0], plain]})
    assert shown.mode == "yaml"


CALL = {"name": "draft", "user": "{{question}}", "models": MODELS}
AGENT = {"name": "planner", "agent": "self_consistency", "calls": [CALL]}
SOLVER = {"name": "solver", "user": "{{planner}}", "models": MODELS}


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([{**CALL, "routes": {"no": "solver"}}, SOLVER], id="router"),
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
def test_routers_and_agents_go_through_the_form(steps):
    given = {**DOCUMENT, "steps": steps}
    shown = from_document(given)
    assert shown.mode == "form"
    assert read_configuration(shown.document()) == read_configuration(given)


def agent(**fields):
    return {"step-0-agent": "self_consistency", "step-0-call": "draft"} | {
        f"step-0-{name}": text for name, text in fields.items()
    }


def test_an_agent_is_launched_from_the_form(browser):
    launch(browser, **agent(agent_options="samples: 3"))
    first, second = Run.objects.get().document["steps"]
    assert (first["agent"], first["options"]) == ("self_consistency", {"samples": 3})
    assert [call["name"] for call in first["calls"]] == ["draft"]
    assert second["name"] == "solver"


def test_a_blank_form_takes_the_recommended_strategy(browser):
    answer = browser.get(reverse("run_new"), {"kind": "select"})
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


def test_the_default_of_documents_stays():
    document = {name: value for name, value in DOCUMENT.items() if name != "strategy"}
    assert section_of(from_document(document)).strategy == "arm_elimination"


def test_steps_are_added_and_removed_without_a_script(browser):
    more = launch(browser, add_step="1").context["filled"]
    assert [step.index for step in section_of(more).steps] == [0, 3, 4]
    less = launch(browser, remove_step="0").context["filled"]
    assert [step.name for step in section_of(less).steps] == ["solver"]
    assert not Run.objects.exists()


PROBLEMS = [
    ({"steps": []}, "id_steps", "at least one step"),
    ({"step-0-models": []}, "id_step-0-models", "at least one model"),
    ({"step-3-name": "2 b"}, "id_step-3-name", "match"),
    ({"step-3-user": "{{nobody}}"}, "id_step-3-user", "nobody"),
    ({"strategy": "luck"}, "id_strategy", "Choose one of"),
    ({"strategy-threshold-threshold": "high"}, "id_strategy", "threshold"),
    ({"objective-lambda_cost": "-1"}, "id_objective-lambda_cost", "greater than or equal to 0"),
    ({"parameter-temperature": "hot"}, "id_parameters", "temperature"),
    ({"step-0-routes": "easy: nowhere"}, "id_step-0-routes", ""),
    ({"step-0-default": "solver"}, "id_step-0-default", ""),
    (agent(agent="gone"), "id_step-0-agent", ""),
    (agent(call="other"), "id_step-0-call", ""),
    (agent(agent_options="samples: many"), "id_step-0-agent_options", ""),
]


def test_what_is_wrong_is_said_at_its_field(browser):
    wrong = {}
    for changes, field, says in PROBLEMS:
        answer = launch(browser, **changes)
        problems = answer.context["problems"]
        is_said = any(one.field == field and says in one.message for one in problems)
        is_there = f'id="{field}"' in answer.content.decode()
        if (answer.status_code, is_said, is_there) != (400, True, True):
            wrong[str(changes)] = (answer.status_code, is_there, problems)
    assert wrong == {}
    assert not Run.objects.exists()


def test_the_estimate_follows_the_steps(browser):
    panel = browser.post(reverse("run_estimate"), FILLED).content.decode()
    assert "4 combinations × 3 cases" in panel
    assert "12 trials</b>" in panel


def test_steps_are_read_in_the_order_of_their_numbers():
    post = QueryDict("kind=select&steps=4&steps=1&steps=x&step-4-name=b&step-1-name=a")
    assert [step.name for step in section_of(read_post(post)).steps] == ["a", "b"]
