"""The new-run form: what it sends, what it keeps, and how it says what is wrong."""

import pytest
from django.urls import reverse

from runs.forms.new_run import read_post
from runs.models import Configuration, Run
from runs.services.runs import create_run
from tests.harness.factories import (
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    run_document,
)
from tests.runs.new_run_parts import FILLED
from workers.engine.kinds import read_configuration

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset(alice):
    make_endpoint()
    return make_dataset(alice)


@pytest.fixture
def filled(dataset):
    return {**FILLED}


def launch(client, filled, **changes):
    return client.post(reverse("run_new"), {**filled, **changes})


def test_a_filled_form_becomes_the_run_it_describes(alice, filled, dataset):
    answer = launch(client_of(alice), filled)
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
        "limits": {
            "max_concurrent": 8,
            "batch_size": 4,
            "timeout_seconds": 2.5,
            "attempts": 3,
        },
        "cache": "refresh",
        "expected": "expected",
    }


def test_a_preset_is_sent_by_its_name(alice, filled):
    launch(client_of(alice), filled, preset="aggressive")
    assert Run.objects.get().document["limits"] == {"preset": "aggressive"}


def test_answers_that_are_not_whole_are_scored_if_the_form_says_so(alice, filled):
    launch(client_of(alice), filled, answers=["truncated", "no_text"])
    run = Run.objects.get()
    assert run.document["answers"] == {"score_truncated": True, "score_no_text": True}
    page = client_of(alice).get(reverse("run_new"), {"run": run.pk}).content.decode()
    boxes = page.split('id="id_answers"')[1].split("</fieldset>")[0]
    assert [part.split('"')[0] for part in boxes.split('value="')[1:] if "checked" in part] == [
        "truncated",
        "no_text",
    ]


def test_a_double_click_makes_one_run(alice, filled):
    client = client_of(alice)
    assert launch(client, filled)["Location"] == launch(client, filled)["Location"]
    assert Run.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "forgets"),
    [
        pytest.param({"draft": "0f3c-9a"}, "0f3c-9a", id="launched"),
        pytest.param({"draft": "0f3c-9a", "models": "gpt"}, None, id="refused"),
        pytest.param({"draft": "x; path=/admin"}, None, id="not ours"),
        pytest.param({}, None, id="no script"),
    ],
)
def test_only_a_launch_lets_the_browser_forget_its_draft(alice, filled, changes, forgets):
    answer = launch(client_of(alice), filled, **changes)
    cookie = answer.cookies.get("launched_draft")
    assert (cookie and cookie.value) == forgets
    if answer.status_code == 400:
        assert answer.context["draft"] == changes["draft"]  # the next try is of the same draft


def test_a_draft_is_restored_only_in_a_form_that_asks_for_nothing_else(alice, filled):
    client = client_of(alice)
    address = reverse("run_new")
    assert 'data-start="blank"' in client.get(address).content.decode()
    assert 'data-start="given"' in client.get(address, {"kind": "select"}).content.decode()
    assert 'data-start="refused"' in launch(client, filled, models="gpt").content.decode()


def test_each_form_has_a_key_of_its_own(alice, dataset):
    client = client_of(alice)
    keys = {client.get(reverse("run_new")).context["filled"].key for _ in range(3)}
    assert len(keys) == 3
    assert all(len(key) >= 16 for key in keys)


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        pytest.param(
            {"models": [], "other_models": ""}, "id_models", "at least one model", id="no model"
        ),
        pytest.param({"other_models": "gpt-4"}, "id_models", "endpoint/model", id="short model"),
        pytest.param({"models": ["gone/x"]}, "id_models", "no endpoint", id="unknown endpoint"),
        pytest.param({"dataset": "nope"}, "id_dataset", "no dataset", id="unknown dataset"),
        pytest.param({"scorers": []}, "id_scorers", "at least one scorer", id="no scorer"),
        pytest.param({"repeats": "two"}, "id_repeats", "valid integer", id="letters"),
        pytest.param({"max_concurrent": "0"}, "id_max_concurrent", "greater", id="no slots"),
        pytest.param({"attempts": "99"}, "id_attempts", "less than", id="too many"),
        pytest.param({"prompt-4-name": "plain"}, "id_prompts", "twice", id="twins"),
        pytest.param({"prompt-4-user": "{{x}}"}, "id_prompt-4-user", "not a column", id="column"),
        pytest.param(
            {"prompt-0-user": ""}, "id_prompt-0-user", "Enter a prompt", id="empty prompt"
        ),
        pytest.param(
            {"scorers": ["regex"], "scorer-regex-pattern": "("}, "id_scorers", "regex", id="regex"
        ),
        pytest.param(
            {"mode": "yaml", "yaml": "kind: [evaluate"}, "id_yaml", "not YAML", id="broken yaml"
        ),
        pytest.param({"mode": "yaml", "yaml": "7"}, "id_yaml", "mapping", id="yaml number"),
        pytest.param({"mode": "yaml", "yaml": "a: &a 1\nb: *a"}, "id_yaml", "aliases", id="alias"),
        pytest.param(
            {"mode": "yaml", "yaml": "[" * 20_000}, "id_yaml", "nested too deeply", id="deep yaml"
        ),
        pytest.param(
            {"mode": "yaml", "yaml": "a: !!set {x}"}, "id_yaml", "tags such as", id="a set"
        ),
        pytest.param(
            {"dataset_source": "paste", "rows": "a,b\n1,2,3"}, "id_rows", "Line 2", id="bad rows"
        ),
        pytest.param(
            {"dataset_source": "paste", "rows": " "}, "id_rows", "at least one row", id="no rows"
        ),
    ],
)
def test_a_problem_is_named_at_its_field_and_nothing_typed_is_lost(
    alice, filled, changes, field, says
):
    sent = {**filled, **changes}
    answer = client_of(alice).post(reverse("run_new"), sent)
    assert answer.status_code == 400
    assert not Run.objects.exists()
    page = answer.content.decode()
    found = [problem for problem in answer.context["problems"] if problem.field == field]
    assert any(says in problem.message for problem in found), answer.context["problems"]
    assert f'href="#{field}"' in page
    assert f'id="{field}"' in page
    assert read_again(answer.context["filled"]) == sent


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


def test_a_limit_is_named_as_its_field_is(alice, filled):
    answer = launch(client_of(alice), filled, max_concurrent="0", batch_size="0", attempts="")
    page = answer.content.decode()
    for field, label in (("max_concurrent", "Calls at once"), ("batch_size", "Batch size")):
        assert f'<a href="#id_{field}">{label}</a>' in page
        assert f'<label for="id_{field}">{label}</label>' in page
    assert "Fix 2 problems to launch" in page
    assert "It does not limit the number of rows." in page


def test_pasted_rows_belong_to_their_run_and_are_there_when_it_is_duplicated(alice, filled):
    rows = '{"question": "1 + 1?", "expected": "2"}\n{"question": "2 + 2?", "expected": "4"}'
    launch(client_of(alice), filled, dataset_source="paste", rows=rows)
    run = Run.objects.get()
    assert (run.dataset.rows, run.dataset.is_hidden) == (2, True)
    page = client_of(alice).get(reverse("run_new"), {"run": run.pk}).content.decode()
    assert f'<option value="{run.dataset.name}@1" selected>' in page
    launch(client_of(alice), filled, dataset=f"{run.dataset.name}@1", key="again")
    assert [run.dataset.pk] * 2 == list(Run.objects.values_list("dataset", flat=True))


def test_yaml_is_read_by_the_same_schema(alice, dataset):
    text = (
        "name: by hand\nkind: evaluate\ndataset: sums\nscorers: [exact]\n"
        "prompts: [{name: plain, user: '{{question}}'}]\n"
        "models: [{endpoint: simulated, model: sim-small, parameters: {temperature: 0}}]\n"
    )
    client_of(alice).post(reverse("run_new"), {"mode": "yaml", "yaml": f"{text}cache: off\n"})
    run = Run.objects.get()
    assert run.name == "by hand"
    assert read_configuration(run.document).cache == "off"
    refused = client_of(alice).post(
        reverse("run_new"), {"mode": "yaml", "yaml": f"{text}cache: on\n"}
    )
    assert [problem.label for problem in refused.context["problems"]] == ["cache"]
    assert "Choose use, refresh or off" in refused.content.decode()


def test_a_past_run_fills_the_form_with_what_it_was(alice, filled):
    client = client_of(alice)
    launch(client, filled)
    again = client.get(reverse("run_new"), {"run": Run.objects.get().pk}).context["filled"]
    assert again.mode == "form"
    assert again.key != filled["key"]
    assert read_configuration(again.document()) == read_configuration(left_open(Run.objects.get()))


def left_open(run):
    """The document of a run, with the newest version of the dataset and what that expects."""
    document = {**run.document, "dataset": run.dataset.name}
    del document["expected"]
    return document


def with_temperature(model, **parameters):
    return {"endpoint": "simulated", "model": model, "parameters": parameters}


def test_parameters_go_to_every_chosen_model_and_come_back(alice, filled):
    client = client_of(alice)
    typed = {
        "parameter-temperature": "0.7",
        "parameter-max_tokens": "200",
        "parameter-top_p": " ",
        "parameters": "presence_penalty: 0.5\nstop: ['.', ü, 2024-01-01]",
    }
    launch(client, filled, **typed)
    run = Run.objects.get()
    parameters = {"presence_penalty": 0.5, "stop": [".", "ü", "2024-01-01"], "temperature": 0.7}
    assert [model["parameters"] for model in run.document["models"]] == [
        {**parameters, "max_tokens": 200}
    ] * 2
    page = client.get(reverse("run_new"), {"run": run.pk})
    again = page.context["filled"]
    assert again.mode == "form"
    assert read_configuration(again.document()) == read_configuration(left_open(run))
    assert 'name="parameter-temperature" value="0.7"' in page.content.decode()


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"parameter-temperature": "hot"}, "temperature is &#x27;hot&#x27;. Give a number"),
        ({"parameter-max_tokens": "-1"}, "max_tokens is -1. Give a whole number"),
        ({"parameters": "just words"}, "should be a valid dictionary"),
        ({"parameters": "a: [1"}, "should be a valid dictionary"),
        ({"parameters": "a: &a 1\nb: *a"}, "should be a valid dictionary"),
        ({"parameters": "[" * 20_000}, "should be a valid dictionary"),
    ],
)
def test_wrong_parameters_are_said_once_beside_their_fields(alice, filled, typed, message):
    answer = launch(client_of(alice), filled, **typed)
    page = answer.content.decode()
    assert answer.status_code == 400
    assert [problem.field for problem in answer.context["problems"]] == ["id_parameters"]
    assert message in page
    assert "data-parameters open" in page


def test_what_the_form_cannot_show_opens_as_yaml(alice, dataset):
    models = [with_temperature("sim-small", temperature=1), with_temperature("sim-small")]
    run = create_run(alice, run_document(dataset, models=models))
    again = client_of(alice).get(reverse("run_new"), {"run": run.pk}).context["filled"]
    assert again.mode == "yaml"
    assert again.yaml_document() == left_open(run)


def test_presets_are_offered_to_everybody_and_other_configurations_to_their_owner(alice, dataset):
    bob = make_person("bob")
    document = run_document(dataset)
    for name, is_preset in (("for all", True), ("bobs own", False)):
        Configuration.objects.create(
            name=name, kind="evaluate", document=document, owner=bob, is_preset=is_preset
        )
    page = client_of(alice).get(reverse("run_new")).content.decode()
    assert "for all" in page
    assert "bobs own" not in page
    hidden = Configuration.objects.get(name="bobs own")
    answer = client_of(alice).get(reverse("run_new"), {"configuration": hidden.pk})
    assert answer.status_code == 404


def test_prompts_are_added_and_removed_without_scripts(alice, filled):
    client = client_of(alice)
    more = launch(client, filled, add_prompt="1").context["filled"]
    assert [prompt.index for prompt in more.sections["evaluate"].prompts] == [0, 4, 5]
    fewer = launch(client, filled, remove_prompt="0").context["filled"]
    assert [prompt.name for prompt in fewer.sections["evaluate"].prompts] == ["terse"]
    assert not Run.objects.exists()


def test_a_blank_form_reads_back_as_itself(alice, dataset):
    page = client_of(alice).get(reverse("run_new"))
    assert page.status_code == 200
    blank = page.context["filled"]
    assert blank.sections["evaluate"].prompts[0].user == "{{question}}"
    assert read_post(page.wsgi_request.POST).document()["prompts"] == []
