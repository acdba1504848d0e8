"""The new-run form for a choice among combinations: what it sends, keeps, and says is wrong."""

import re
from typing import Any

import pytest
from django.urls import reverse

from runs.forms.new_run import read_post
from runs.forms.starting_points import from_document
from runs.models import Run
from tests.harness.factories import client_of
from tests.runs.new_run_parts import posted, problems_of, read_form
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


def test_a_filled_form_becomes_the_choice_it_describes_and_is_shown_again(browser):
    answer = launch(browser)
    run = Run.objects.get()
    assert answer["Location"] == run.get_absolute_url()
    assert run.document == {**DOCUMENT, "expected": "expected"}
    assert run.candidates.count() == 4
    page = browser.get(reverse("run_new"), {"run": run.pk})
    shown = page.context["filled"]
    assert (shown.mode, shown.kind, shown.dataset) == ("form", "select", run.dataset.name)
    given = {**DOCUMENT, "dataset": run.dataset.name}
    assert read_configuration(shown.document()) == read_configuration(given)
    assert [step.name for step in section_of(shown).steps] == ["planner", "solver"]
    assert "simulated/other" in page.content.decode()


CALL = {"name": "draft", "user": "{{question}}", "models": MODELS}
AGENT = {"name": "planner", "agent": "self_consistency", "calls": [CALL]}
SOLVER = {"name": "solver", "user": "{{planner}}", "models": MODELS}


FORM: dict[str, dict[str, Any]] = {
    "parameters of single models": {
        "steps": [{**DOCUMENT["steps"][0], "models": [MODELS[0], model(MODELS[1])]}]
    },
    "router": {"steps": [{**CALL, "routes": {"no": "solver"}}, SOLVER]},
    "router with a default": {
        "steps": [{**CALL, "routes": {"easy: or so": "solver"}, "default": "solver"}, SOLVER]
    },
    "agent": {"steps": [AGENT, SOLVER]},
    "agent with options that routes": {
        "steps": [{**AGENT, "options": {"samples": 3}, "routes": {"a": "solver"}}, SOLVER]
    },
    "agent with two calls": {
        "steps": [
            {**AGENT, "calls": [CALL, {**CALL, "name": "revise", "system": "Check."}]},
            SOLVER,
        ]
    },
    "two agents": {"steps": [AGENT, {**AGENT, "name": "again"}, SOLVER]},
    **{name: {"strategy": {"name": name, "confidence": 1.5, "budget": 40}} for name in SELECTIONS},
}


def test_what_the_form_can_say_goes_through_it_unchanged():
    found = {}
    for name, changes in FORM.items():
        given = {**DOCUMENT, **changes}
        shown = from_document(given)
        found[name] = (shown.mode, read_configuration(shown.document()))
    wanted = {name: read_configuration({**DOCUMENT, **changes}) for name, changes in FORM.items()}
    assert found == {name: ("form", configuration) for name, configuration in wanted.items()}
    own = from_document({**DOCUMENT, **FORM["parameters of single models"]}).parameters.own
    assert own == "simulated/sim-large:\n  temperature: 0.5\n"
    plain = {**DOCUMENT["steps"][1], "models": MODELS}  # one has parameters in the other step
    assert from_document({**DOCUMENT, "steps": [DOCUMENT["steps"][0], plain]}).mode == "yaml"
    document = {name: value for name, value in DOCUMENT.items() if name != "strategy"}
    assert section_of(from_document(document)).strategy == "arm_elimination"  # of documents


def agent(**fields):
    return {"step-0-agent": "self_consistency", "step-0-call": "draft"} | {
        f"step-0-{name}": text for name, text in fields.items()
    }


def test_an_agent_is_made_by_the_form():
    document = read_form({**FILLED, **agent(agent_options="samples: 3")}).document()
    first, second = document["steps"]
    assert (first["agent"], first["options"]) == ("self_consistency", {"samples": 3})
    assert [call["name"] for call in first["calls"]] == ["draft"]
    assert second["name"] == "solver"


def test_a_blank_form_offers_every_strategy_and_takes_the_recommended_one(browser):
    answer = browser.get(reverse("run_new"), {"kind": "select"})
    shown, page = answer.context["filled"], answer.content.decode()
    assert section_of(shown).strategy == "paired_elimination"
    assert shown.document()["strategy"] == "paired_elimination"
    assert "objective" not in shown.document()
    names = re.findall(r'name="strategy" value="(\w+)"', page)
    assert names[0] == "paired_elimination"
    assert sorted(names) == sorted(SELECTIONS)
    assert [name for name in SELECTIONS if f'name="strategy-{name}-confidence"' not in page] == []
    assert "Paired elimination (recommended)" in page
    assert "Weight of cost" in page
    assert 'data-start="given"' in page  # no draft is restored
    fields = page[page.index('id="id_strategy"') : page.index('id="id_prompts"')]
    assert "lambda" not in re.sub(r"<[^>]+>", "", fields)  # names of the YAML are no labels


def test_steps_are_added_and_removed_without_a_script():
    for change, numbers in (({"add_step": "1"}, [0, 3, 4]), ({"remove_step": "0"}, [3])):
        post = posted({**FILLED, **change})
        filled = read_post(post)
        assert filled.section.change_rows(post)
        assert [step.index for step in section_of(filled).steps] == numbers


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


def test_what_is_wrong_is_said_at_its_field(alice, browser):
    wrong = {}
    for changes, field, says in PROBLEMS:
        problems = problems_of(alice, {**FILLED, **changes})
        if not any(one.field == field and says in one.message for one in problems):
            wrong[str(changes)] = problems
    assert wrong == {}
    answer = launch(browser, **{"step-0-models": []})
    page = answer.content.decode()
    assert answer.status_code == 400
    assert 'href="#id_step-0-models"' in page
    assert [field for _, field, _ in PROBLEMS if f'id="{field}"' not in page] == []
    assert not Run.objects.exists()


def test_the_estimate_follows_the_steps(browser):
    panel = browser.post(reverse("run_estimate"), FILLED).content.decode()
    assert "4 combinations × 3 cases" in panel
    assert "12 trials</b>" in panel


def test_steps_are_read_in_the_order_of_their_numbers():
    form = {"kind": "select", "steps": ["4", "1", "x"], "step-4-name": "b", "step-1-name": "a"}
    assert [step.name for step in section_of(read_form(form)).steps] == ["a", "b"]
