"""The new-run form for a choice among combinations: what it sends, keeps, and says is wrong."""

import re
from typing import Any

import pytest
from django.urls import reverse

from runs.forms.new_run import read_post
from runs.forms.starting_points import from_document
from runs.models import Run
from runs.services.runs import create_run
from tests.runs.new_run_parts import posted, problems_of, read_form, sent_by
from workers.engine.kinds import read_configuration
from workers.engine.strategies import SELECTIONS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("dataset")]

MODELS = ["simulated/sim-small", "simulated/sim-large"]


def section_of(filled):
    return filled.sections["select"]


def warm(*names):
    given = {"endpoint": "simulated", "parameters": {"temperature": 0.5}}
    return [{**given, "model": name} for name in names]


PLANNER = {"name": "planner", "system": "Plan.", "user": "{{question}}"}
SECOND = {"name": "solver", "system": "", "user": "{{planner}}: {{question}}"}
DOCUMENT: dict[str, Any] = {
    "name": "pick",
    "kind": "select",
    "seed": 7,
    "dataset": "sums@1",
    "steps": [
        {**PLANNER, "models": warm("sim-small", "sim-large")},
        {**SECOND, "models": warm("sim-small", "other")},
    ],
    "strategy": {"name": "threshold", "threshold": 0.8},
    "objective": {"lambda_cost": 0.25},
    "repeats": 1,
    "scorers": ["exact"],
    "limits": {"preset": "balanced"},
    "cache": "use",
}


def agent(**fields):
    return {"step-0-agent": "self_consistency", "step-0-call": "draft"} | {
        f"step-0-{name}": text for name, text in fields.items()
    }


PROBLEMS = [
    ({"steps": []}, "id_steps", "at least one step"),
    ({"step-0-models": [], "step-0-other_models": ""}, "id_step-0-models", "at least one model"),
    ({"step-1-name": "2 b"}, "id_step-1-name", "match"),
    ({"step-1-user": "{{nobody}}"}, "id_step-1-user", "nobody"),
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


def test_what_the_page_shows_of_a_choice_launches_it_again(alice, browser):
    run = create_run(alice, DOCUMENT)
    page = browser.get(reverse("run_new"), {"run": run.pk})
    shown, sent = page.context["filled"], sent_by(page.text)
    assert (shown.mode, shown.kind, shown.dataset) == ("form", "select", run.dataset.name)
    assert [step.name for step in section_of(shown).steps] == ["planner", "solver"]
    assert sent["step-1-models"] == ["simulated/sim-small", "simulated/other"]
    sent |= {"step-1-models": MODELS[:1], "step-1-other_models": ["simulated/other\n"]}
    panel = browser.post(reverse("run_estimate"), sent).text
    assert "4 combinations × 3 cases" in panel
    assert "12 trials</b>" in panel
    answer = browser.post(reverse("run_new"), sent)
    again = Run.objects.latest("pk")
    assert answer["Location"] == again.get_absolute_url() != run.get_absolute_url()
    assert again.document == {**DOCUMENT, "expected": "expected"}
    assert again.candidates.count() == 4
    document = read_form({**sent, **agent(agent_options="samples: 3")}).document()
    first, second = create_run(alice, document).document["steps"]
    assert (first["agent"], first["options"]) == ("self_consistency", {"samples": 3})
    assert [call["name"] for call in first["calls"]] == ["draft"]
    assert second["name"] == "solver"
    for button, numbers in (("add_step", [0, 1, 2]), ("remove_step", [0])):
        post = posted({**sent, button: "1"})
        filled = read_post(post)
        assert filled.section.change_rows(post)
        assert [step.index for step in section_of(filled).steps] == numbers


def test_what_is_wrong_is_said_at_its_field(alice, browser):
    page = browser.get(reverse("run_new"), {"run": create_run(alice, DOCUMENT).pk}).text
    sent = sent_by(page)
    for changes, field, says in PROBLEMS:
        problems = problems_of(alice, {**sent, **changes})
        found = [one for one in problems if one.field == field and says in one.message]
        assert found, (changes, problems)
        assert f'id="{field}"' in page
    answer = browser.post(reverse("run_new"), {**sent, **changes})
    assert (answer.status_code, f'href="#{field}"' in answer.text) == (400, True)
    assert Run.objects.count() == 1


CALL = {"name": "draft", "user": "{{question}}", "models": MODELS}
REVISE = {**CALL, "name": "revise", "system": "Check."}
AGENT = {"name": "planner", "agent": "self_consistency", "calls": [CALL]}
SOLVER = {"name": "solver", "user": "{{planner}}", "models": MODELS}
FORM: dict[str, dict[str, Any]] = {
    "parameters of single models": {
        "steps": [{**PLANNER, "models": [MODELS[0], *warm("sim-large")]}]
    },
    "router": {"steps": [{**CALL, "routes": {"no": "solver"}}, SOLVER]},
    "router with a default": {
        "steps": [{**CALL, "routes": {"easy: or so": "solver"}, "default": "solver"}, SOLVER]
    },
    "agent": {"steps": [AGENT, SOLVER]},
    "agent with options that routes": {
        "steps": [{**AGENT, "options": {"samples": 3}, "routes": {"a": "solver"}}, SOLVER]
    },
    "agent with two calls": {"steps": [{**AGENT, "calls": [CALL, REVISE]}, SOLVER]},
    "two agents": {"steps": [AGENT, {**AGENT, "name": "again"}, SOLVER]},
    **{name: {"strategy": {"name": name, "confidence": 1.5, "budget": 40}} for name in SELECTIONS},
}


def test_what_the_form_can_say_goes_through_it_unchanged():
    for name, changes in FORM.items():
        given = {**DOCUMENT, **changes}
        shown = from_document(given)
        assert shown.mode == "form", name
        assert read_configuration(shown.document()) == read_configuration(given), name
    own = from_document({**DOCUMENT, **FORM["parameters of single models"]}).parameters.own
    assert own == "simulated/sim-large:\n  temperature: 0.5\n"
    plain = {**SECOND, "models": MODELS}  # one has parameters in the other step
    assert from_document({**DOCUMENT, "steps": [DOCUMENT["steps"][0], plain]}).mode == "yaml"
    document = {name: value for name, value in DOCUMENT.items() if name != "strategy"}
    assert section_of(from_document(document)).strategy == "arm_elimination"  # of documents


def test_a_blank_form_offers_every_strategy_and_steps_are_read_by_their_numbers(browser):
    answer = browser.get(reverse("run_new"), {"kind": "select"})
    shown, page = answer.context["filled"], answer.text
    assert section_of(shown).strategy == "paired_elimination"
    assert shown.document()["strategy"] == "paired_elimination"
    assert "objective" not in shown.document()
    names = re.findall(r'name="strategy" value="(\w+)"', page)
    assert (names[0], sorted(names)) == ("paired_elimination", sorted(SELECTIONS))
    assert [name for name in SELECTIONS if f'name="strategy-{name}-confidence"' not in page] == []
    assert "Paired elimination (recommended)" in page
    assert "Weight of cost" in page
    assert 'data-start="given"' in page  # no draft is restored
    fields = page[page.index('id="id_strategy"') : page.index('id="id_prompts"')]
    assert "lambda" not in re.sub(r"<[^>]+>", "", fields)  # names of the YAML are no labels
    form = {"kind": "select", "steps": ["4", "1", "x"], "step-4-name": "b", "step-1-name": "a"}
    assert [step.name for step in section_of(read_form(form)).steps] == ["a", "b"]
