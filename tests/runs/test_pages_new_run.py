"""The new-run form: what it sends, what it keeps, and how it says what is wrong."""

from typing import Any

import pytest
from django.urls import reverse

from runs.forms.new_run import read_post
from runs.models import Configuration, Run
from runs.services.runs import create_run
from tests.harness.factories import client_of, run_document
from tests.runs.new_run_parts import FILLED
from workers.engine.kinds import read_configuration

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("dataset")]


@pytest.fixture
def browser(alice):
    return client_of(alice)


def launch(browser, **changes):
    return browser.post(reverse("run_new"), {**FILLED, **changes})


def duplicate_of(browser, run):
    return browser.get(reverse("run_new"), {"run": run.pk})


def left_open(run):
    """The document of a run, with the newest version of the dataset and what that expects."""
    document = {**run.document, "dataset": run.dataset.name}
    del document["expected"]
    return document


def test_a_filled_form_becomes_the_run_it_describes_and_a_double_click_makes_one(browser, dataset):
    answer = launch(browser)
    run = Run.objects.get()
    assert answer["Location"] == run.get_absolute_url()
    assert run.planned == 2 * 2 * dataset.rows * 2
    assert run.document == {
        "name": "small",
        "kind": "evaluate",
        "seed": 7,
        "dataset": "sums@1",
        "prompts": [
            {"name": "plain", "system": "", "user": "{{question}}"},
            {"name": "terse", "system": "Number only.", "user": "{{question}}"},
        ],
        "models": ["simulated/sim-small", "simulated/sim-large"],
        "repeats": 2,
        "scorers": [{"numeric": {"tolerance": 0.5}}],
        "limits": {"max_concurrent": 8, "batch_size": 4, "timeout_seconds": 2.5, "attempts": 3},
        "cache": "refresh",
        "expected": "expected",
    }
    assert launch(browser)["Location"] == answer["Location"]
    assert Run.objects.count() == 1
    again = duplicate_of(browser, run).context["filled"]
    assert again.mode == "form"
    assert again.key != FILLED["key"]
    assert read_configuration(again.document()) == read_configuration(left_open(run))


def test_a_preset_is_sent_by_its_name(browser):
    launch(browser, preset="aggressive")
    assert Run.objects.get().document["limits"] == {"preset": "aggressive"}


def test_answers_that_are_not_whole_are_scored_if_the_form_says_so(browser):
    launch(browser, answers=["truncated", "no_text"])
    run = Run.objects.get()
    assert run.document["answers"] == {"score_truncated": True, "score_no_text": True}
    page = duplicate_of(browser, run).content.decode()
    boxes = page.split('id="id_answers"')[1].split("</fieldset>")[0]
    ticked = [part.split('"')[0] for part in boxes.split('value="')[1:] if "checked" in part]
    assert ticked == ["truncated", "no_text"]


@pytest.mark.parametrize(
    ("changes", "forgets"),
    [
        pytest.param({"draft": "0f3c-9a"}, "0f3c-9a", id="launched"),
        pytest.param({"draft": "0f3c-9a", "models": "gpt"}, None, id="refused"),
        pytest.param({"draft": "x; path=/admin"}, None, id="not ours"),
        pytest.param({}, None, id="no script"),
    ],
)
def test_only_a_launch_lets_the_browser_forget_its_draft(browser, changes, forgets):
    answer = launch(browser, **changes)
    cookie = answer.cookies.get("launched_draft")
    assert (cookie and cookie.value) == forgets
    if answer.status_code == 400:
        assert answer.context["draft"] == changes["draft"]  # the next try is of the same draft
        assert 'data-start="refused"' in answer.content.decode()


def test_a_blank_form_reads_back_as_itself_and_has_a_key_of_its_own(browser):
    """A draft is restored only in a form that asks for nothing else."""
    pages = [browser.get(reverse("run_new")) for _ in range(3)]
    keys = {page.context["filled"].key for page in pages}
    assert len(keys) == 3
    assert all(len(key) >= 16 for key in keys)
    blank = pages[0].context["filled"]
    assert blank.sections["evaluate"].prompts[0].user == "{{question}}"
    assert read_post(pages[0].wsgi_request.POST).document()["prompts"] == []
    assert 'data-start="blank"' in pages[0].content.decode()
    given = browser.get(reverse("run_new"), {"kind": "select"}).content.decode()
    assert 'data-start="given"' in given


PROBLEMS: list[tuple[dict[str, Any], str, str]] = [
    ({"models": [], "other_models": ""}, "id_models", "at least one model"),
    ({"other_models": "gpt-4"}, "id_models", "endpoint/model"),
    ({"models": ["gone/x"]}, "id_models", "no endpoint"),
    ({"dataset": "nope"}, "id_dataset", "no dataset"),
    ({"scorers": []}, "id_scorers", "at least one scorer"),
    ({"repeats": "two"}, "id_repeats", "valid integer"),
    ({"max_concurrent": "0"}, "id_max_concurrent", "greater"),
    ({"attempts": "99"}, "id_attempts", "less than"),
    ({"prompt-4-name": "plain"}, "id_prompts", "twice"),
    ({"prompt-4-user": "{{x}}"}, "id_prompt-4-user", "not a column"),
    ({"prompt-0-user": ""}, "id_prompt-0-user", "Enter a prompt"),
    ({"scorers": ["regex"], "scorer-regex-pattern": "("}, "id_scorers", "regex"),
    ({"mode": "yaml", "yaml": "kind: [evaluate"}, "id_yaml", "not YAML"),
    ({"mode": "yaml", "yaml": "7"}, "id_yaml", "mapping"),
    ({"mode": "yaml", "yaml": "a: &a 1\nb: *a"}, "id_yaml", "aliases"),
    ({"mode": "yaml", "yaml": "[" * 20_000}, "id_yaml", "nested too deeply"),
    ({"mode": "yaml", "yaml": "a: !!set {x}"}, "id_yaml", "tags such as"),
    ({"dataset_source": "paste", "rows": "a,b\n1,2,3"}, "id_rows", "Line 2"),
    ({"dataset_source": "paste", "rows": " "}, "id_rows", "at least one row"),
]


def test_a_problem_is_named_at_its_field_and_nothing_typed_is_lost(browser):
    wrong = {}
    for changes, field, says in PROBLEMS:
        answer = launch(browser, **changes)
        page, problems = answer.content.decode(), answer.context["problems"]
        messages = [problem.message for problem in problems if problem.field == field]
        found = {
            "is refused": answer.status_code == 400,
            "is said": any(says in message for message in messages),
            "is linked": f'href="#{field}"' in page and f'id="{field}"' in page,
            "is kept": read_again(answer.context["filled"]) == {**FILLED, **changes},
        }
        if not all(found.values()):
            wrong[str(changes)[:99]] = (found, problems)
    assert wrong == {}
    assert not Run.objects.exists()


def read_again(filled):
    """The fields as the answered form would send them once more."""
    fields = {
        "key": filled.key,
        "mode": filled.mode,
        "name": filled.name,
        "dataset_source": filled.dataset_source,
        "dataset": filled.dataset,
        "prompts": [str(prompt.index) for prompt in filled.sections["evaluate"].prompts],
        "models": filled.sections["evaluate"].models,
        "other_models": filled.sections["evaluate"].other_models,
        "scorers": [scorer.name for scorer in filled.scorers if scorer.is_chosen],
        "repeats": filled.repeats,
        "seed": filled.seed,
        "preset": filled.preset,
        "cache": filled.cache,
        **filled.limits,
    }
    for prompt in filled.sections["evaluate"].prompts:
        for part in ("name", "system", "user"):
            fields[f"prompt-{prompt.index}-{part}"] = getattr(prompt, part)
    for scorer in filled.scorers:
        fields |= {option.field: option.value for option in scorer.options}
    fields |= {"yaml": filled.yaml, "rows": filled.rows}
    optional = {"yaml", "rows", "prompt-0-system"} | {
        name for name in fields if name.startswith("scorer-")
    }
    return {name: value for name, value in fields.items() if value or name not in optional}


def test_a_limit_is_named_as_its_field_is(browser):
    page = launch(browser, max_concurrent="0", batch_size="0", attempts="").content.decode()
    for field, label in (("max_concurrent", "Calls at once"), ("batch_size", "Batch size")):
        assert f'<a href="#id_{field}">{label}</a>' in page
        assert f'<label for="id_{field}">{label}</label>' in page
    assert "Fix 2 problems to launch" in page
    assert "It does not limit the number of rows." in page


def test_pasted_rows_belong_to_their_run_and_are_there_when_it_is_duplicated(browser):
    rows = '{"question": "1 + 1?", "expected": "2"}\n{"question": "2 + 2?", "expected": "4"}'
    launch(browser, dataset_source="paste", rows=rows)
    run = Run.objects.get()
    assert (run.dataset.rows, run.dataset.is_hidden) == (2, True)
    page = duplicate_of(browser, run).content.decode()
    assert f'<option value="{run.dataset.name}@1" selected>' in page
    launch(browser, dataset=f"{run.dataset.name}@1", key="again")
    assert [run.dataset.pk] * 2 == list(Run.objects.values_list("dataset", flat=True))


def test_yaml_is_read_by_the_same_schema(browser):
    text = (
        "name: by hand\nkind: evaluate\ndataset: sums\nscorers: [exact]\n"
        "prompts: [{name: plain, user: '{{question}}'}]\n"
        "models: [{endpoint: simulated, model: sim-small, parameters: {temperature: 0}}]\n"
    )
    browser.post(reverse("run_new"), {"mode": "yaml", "yaml": f"{text}cache: off\n"})
    run = Run.objects.get()
    assert run.name == "by hand"
    assert read_configuration(run.document).cache == "off"
    refused = browser.post(reverse("run_new"), {"mode": "yaml", "yaml": f"{text}cache: on\n"})
    assert [problem.label for problem in refused.context["problems"]] == ["cache"]
    assert "Choose use, refresh or off" in refused.content.decode()


def test_parameters_go_to_every_chosen_model_and_come_back(browser):
    typed = {
        "parameter-temperature": "0.7",
        "parameter-max_tokens": "200",
        "parameter-top_p": " ",
        "parameters": "presence_penalty: 0.5\nstop: ['.', ü, 2024-01-01]",
    }
    launch(browser, **typed)
    run = Run.objects.get()
    parameters = {"presence_penalty": 0.5, "stop": [".", "ü", "2024-01-01"], "temperature": 0.7}
    sent = [model["parameters"] for model in run.document["models"]]
    assert sent == [{**parameters, "max_tokens": 200}] * 2
    page = duplicate_of(browser, run)
    again = page.context["filled"]
    assert again.mode == "form"
    assert read_configuration(again.document()) == read_configuration(left_open(run))
    assert 'name="parameter-temperature" value="0.7"' in page.content.decode()


def test_some_models_get_parameters_of_their_own(browser):
    typed = {
        "parameter-temperature": "0.5",
        "own_parameters": "simulated/sim-large: {temperature: null, max_tokens: 9}",
    }
    launch(browser, **typed)
    run = Run.objects.get()
    sent = [model["parameters"] for model in run.document["models"]]
    assert sent == [{"temperature": 0.5}, {"max_tokens": 9}]
    again = duplicate_of(browser, run).context["filled"]
    assert again.mode == "form"
    models = [read_configuration(one).called for one in (again.document(), run.document)]
    assert models[0] == models[1]


def test_what_is_wrong_is_said_once_beside_its_field(browser):
    no_mapping = "should be a valid dictionary"
    rows = [
        ({"parameter-temperature": "hot"}, "temperature is &#x27;hot&#x27;. Give a number"),
        ({"parameter-max_tokens": "-1"}, "max_tokens is -1. Give a whole number"),
        *(
            ({"parameters": text}, no_mapping)
            for text in ("just words", "a: [1", "a: &a 1\nb: *a", "[" * 20_000)
        ),
        (
            {"own_parameters": "simulated/sim-lagre: {max_tokens: 9}"},
            "Chosen are: simulated/sim-large, simulated/sim-small.",
        ),
        ({"advanced-tokens_per_minute": "many"}, ""),
        ({"advanced-fail_on_error": "2.5"}, ""),
    ]
    wrong = {}
    for typed, message in rows:
        answer = launch(browser, **typed)
        page, (name,) = answer.content.decode(), typed
        place = "id_parameters" if name.startswith("parameter") else f"id_{name}"
        fields = [problem.field for problem in answer.context["problems"]]
        is_open = "data-parameters open" in page or place != "id_parameters"
        if (answer.status_code, fields, message in page, is_open) != (400, [place], True, True):
            wrong[str(typed)[:99]] = (answer.status_code, fields, page[-800:])
    assert wrong == {}


def test_what_the_form_cannot_show_opens_as_yaml(alice, browser, dataset):
    plain = {"endpoint": "simulated", "model": "sim-small", "parameters": {}}
    models = [{**plain, "parameters": {"temperature": 1}}, plain]
    run = create_run(alice, run_document(dataset, models=models))
    again = duplicate_of(browser, run).context["filled"]
    assert again.mode == "yaml"
    assert again.yaml_document() == left_open(run)


def test_presets_are_offered_to_everybody_and_other_configurations_to_their_owner(
    browser, bob, dataset
):
    document = run_document(dataset)
    for name, is_preset in (("for all", True), ("bobs own", False)):
        Configuration.objects.create(
            name=name, kind="evaluate", document=document, owner=bob, is_preset=is_preset
        )
    page = browser.get(reverse("run_new")).content.decode()
    assert "for all" in page
    assert "bobs own" not in page
    hidden = Configuration.objects.get(name="bobs own")
    assert browser.get(reverse("run_new"), {"configuration": hidden.pk}).status_code == 404


def test_prompts_are_added_and_removed_without_scripts(browser):
    more = launch(browser, add_prompt="1").context["filled"]
    assert [prompt.index for prompt in more.sections["evaluate"].prompts] == [0, 4, 5]
    fewer = launch(browser, remove_prompt="0").context["filled"]
    assert [prompt.name for prompt in fewer.sections["evaluate"].prompts] == ["terse"]
    assert not Run.objects.exists()
