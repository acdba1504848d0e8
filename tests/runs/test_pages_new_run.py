"""The new-run form: what it sends, what it keeps, and how it says what is wrong."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from runs.forms.new_run import read_post
from runs.forms.starting_points import from_document
from runs.kinds import kind_named
from runs.models import Configuration, Dataset, Endpoint, Run
from runs.selectors.estimates.review import review_text
from runs.services.runs import create_run
from tests.harness.factories import run_document
from tests.harness.table import table
from tests.runs.new_run_parts import FILLED, problems_of, read_form, sent_by
from workers.engine.kinds import read_configuration
from workers.engine.spec.documents import read_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("dataset")]

DRAFT = "0f3c-9a"
SCORERS = {
    "scorers": ["numeric", "exact"],
    "scorer-numeric-weight": "3",
    "scorer-exact-strip": "on",
    "scorer-exact-not": "on",
    "scorer-exact-weight": "1",
    "scorer-exact-as": "not the same",
    "combine": "all",
}
PARAMETERS = {
    "parameter-temperature": "0.7",
    "parameter-max_tokens": "200",
    "parameter-top_p": " ",
    "parameters": "presence_penalty: 0.5\nstop: ['.', ü, 2024-01-01]",
}


def launch(browser, **changes):
    return browser.post(reverse("run_new"), {**FILLED, **changes})


def duplicate_of(browser, run):
    return browser.get(reverse("run_new"), {"run": run.pk})


def left_open(run):
    """The document of a run, with the newest version of the dataset and what that expects."""
    document = {**run.document, "dataset": run.dataset.name}
    del document["expected"]
    return document


def forgotten_by(answer):
    """The draft that the browser is told to forget."""
    cookie = answer.cookies.get("launched_draft")
    return cookie and cookie.value


def test_a_filled_form_becomes_the_run_it_describes_and_a_double_click_makes_one(browser, dataset):
    answer = launch(browser, draft=DRAFT)
    run = Run.objects.get()
    assert answer["Location"] == run.get_absolute_url()
    assert forgotten_by(answer) == DRAFT
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
    for draft in ({}, {"draft": "x; path=/admin"}):  # of no script, and not ours
        again = launch(browser, **draft)
        assert (again["Location"], forgotten_by(again)) == (answer["Location"], None)
    assert Run.objects.count() == 1
    shown = duplicate_of(browser, run).context["filled"]
    assert shown.mode == "form"
    assert shown.key != FILLED["key"]
    assert read_configuration(shown.document()) == read_configuration(left_open(run))


def models(small: dict[str, Any], large: dict[str, Any]) -> dict[str, Any]:
    both = {"sim-small": small, "sim-large": large}
    chosen = [{"model": name, "parameters": given} for name, given in both.items()]
    return {"models": [{"endpoint": "simulated", **one} for one in chosen]}


OF_ALL = {"presence_penalty": 0.5, "stop": [".", "ü", "2024-01-01"], "temperature": 0.7}
OF_ALL["max_tokens"] = 200
SAID: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a preset": ({"preset": "aggressive"}, {"limits": {"preset": "aggressive"}}),
    "answers that are not whole": (
        {"answers": ["truncated", "no_text"]},
        {"answers": {"score_truncated": True, "score_no_text": True}},
    ),
    "parameters of every model": (PARAMETERS, models(OF_ALL, OF_ALL)),
    "parameters of some models": (
        {
            "parameter-temperature": "0.5",
            "own_parameters": "simulated/sim-large: {temperature: null, max_tokens: 9}",
        },
        models({"temperature": 0.5}, {"max_tokens": 9}),
    ),
    "the fold": (
        {
            "advanced-tokens_per_minute": "5000",
            "advanced-adaptive": "off",
            "advanced-schedule": "sequential",
            "advanced-priority": "low",
            "advanced-fail_on_error": "0.2",
            "advanced-summary": "on",
            "preset": "balanced",
        },
        {
            "limits": {
                "preset": "balanced",
                "tokens_per_minute": 5000,
                "adaptive": False,
                "schedule": "sequential",
                "performance_summary": True,
            },
            "priority": "low",
            "fail_on_error": 0.2,
        },
    ),
    "what holds for every scorer": (
        SCORERS,
        {
            "combine": "all",
            "scorers": [
                {"exact": {"not": True, "as": "not the same"}},
                {"numeric": {"tolerance": 0.5, "weight": 3}},
            ],
        },
    ),
    "nothing special": (
        {"scorers": ["exact"], "scorer-exact-strip": "on", "combine": "mean"},
        {"scorers": ["exact"], "combine": None},
    ),
}


def test_what_the_form_says_is_in_the_document_and_comes_back():
    found = {}
    for name, (typed, said) in SAID.items():
        document = read_form({**FILLED, **typed}).document()
        again = from_document(document)
        comes_back = read_configuration(again.document()) == read_configuration(document)
        found[name] = ({key: document.get(key) for key in said}, again.mode, comes_back)
    assert found == {name: (said, "form", True) for name, (_, said) in SAID.items()}


@table(
    {"limits": {"tokens_per_minute": 9000}},
    {"limits": {"adaptive": False, "preset": "balanced"}},
    {"limits": {"schedule": "sequential"}},
    {"limits": {"schedule": "two_level", "preset": "balanced"}},
    {"limits": {"max_concurrent_candidates": 3}},  # implies two levels
    {"limits": {"max_concurrent_candidates": 3, "max_concurrent_per_candidate": 4}},
    {"limits": {"candidate_batch_size": 3, "attempts": 2}},
    {"limits": {"performance_summary": True}},
    {"priority": "high", "fail_on_error": 0.1},
    {"fail_on_error": 12},  # a number of failures
)
def test_all_that_limits_can_say_goes_through_the_form(dataset, said):
    def meaning(document):
        read = read_configuration(document)
        return read.limits.model_copy(update={"preset": None}), read.priority, read.fail_on_error

    document = run_document(dataset, **said)
    shown = from_document(document)
    assert (shown.mode, shown.advanced.is_given) == ("form", True)
    assert meaning(shown.document()) == meaning(document)


def test_a_duplicate_shows_all_that_the_form_said_and_the_rows_pasted_for_its_run(browser):
    launch(browser, **SCORERS, **PARAMETERS, answers=["truncated", "no_text"])
    page = duplicate_of(browser, Run.objects.get()).text
    boxes = page.split('id="id_answers"')[1].split("</fieldset>")[0]
    ticked = [part.split('"')[0] for part in boxes.split('value="')[1:] if "checked" in part]
    assert ticked == ["truncated", "no_text"]
    assert 'name="parameter-temperature" value="0.7"' in page
    assert '<option value="all" selected>' in page
    assert 'value="not the same"' in page
    assert page.count('<details class="disclosure wide" open>') == 2  # of the two that use them
    rows = '{"question": "1 + 1?", "expected": "2"}\n{"question": "2 + 2?", "expected": "4"}'
    launch(browser, dataset_source="paste", rows=rows, key="pasted")
    run = Run.objects.latest("pk")
    assert (run.dataset.rows, run.dataset.is_hidden) == (2, True)
    assert f'<option value="{run.dataset.name}@1" selected>' in duplicate_of(browser, run).text
    launch(browser, dataset=f"{run.dataset.name}@1", key="again")
    assert [run.dataset.pk] * 2 == list(
        Run.objects.order_by("-pk").values_list("dataset", flat=True)[:2]
    )


def test_a_blank_form_reads_back_as_itself_and_has_a_key_and_presets(browser, bob, dataset):
    """A draft is restored only in a form that asks for nothing else."""
    made = {"kind": "evaluate", "document": run_document(dataset), "owner": bob}
    for name, is_preset in (("for all", True), ("bobs own", False)):
        hidden = Configuration.objects.create(name=name, is_preset=is_preset, **made)
    page, other = (browser.get(reverse("run_new")) for _ in range(2))
    blank, text = page.context["filled"], page.text
    assert len(blank.key) >= 16
    assert blank.key != other.context["filled"].key
    assert blank.sections["evaluate"].prompts[0].user == "{{question}}"
    assert read_post(page.wsgi_request.POST).document()["prompts"] == []
    for part in ('data-start="blank"', 'data-copies="yaml"', 'data-copies="curl"'):
        assert part in text
    assert ("for all" in text, "bobs own" in text) == (True, False)
    assert browser.get(reverse("run_new"), {"configuration": hidden.pk}).status_code == 404


NO_MAPPING = "should be a valid dictionary"
CHOSEN = "Chosen are: simulated/sim-large, simulated/sim-small."
WEBHOOK = {"scorers": ["webhook"], "scorer-webhook-url": "http://10.0.0.1/judge"}
NO_WEIGHT = {**SCORERS, "scorer-numeric-weight": "0", "scorer-exact-weight": "0"}
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
    ({"mode": "yaml", "yaml": "[" * 20_000}, "id_yaml", "nested too deeply"),
    ({"mode": "yaml", "yaml": "- " * 100_000}, "id_yaml", "nested too deeply"),
    ({"where": "subject: " + "[" * 20_000}, "id_where", "Give columns with values"),
    ({"dataset_source": "paste", "rows": "a,b\n1,2,3"}, "id_rows", "Line 2"),
    ({"dataset_source": "paste", "rows": " "}, "id_rows", "at least one row"),
    ({"parameter-temperature": "hot"}, "id_parameters", "temperature is 'hot'. Give a number"),
    ({"parameter-max_tokens": "-1"}, "id_parameters", "max_tokens is -1. Give a whole number"),
    *(
        ({"parameters": text}, "id_parameters", NO_MAPPING)
        for text in ("just words", "a: [1", "a: &a 1\nb: *a", "[" * 20_000)
    ),
    ({"own_parameters": "simulated/sim-lagre: {a: 9}"}, "id_own_parameters", CHOSEN),
    ({"advanced-tokens_per_minute": "many"}, "id_advanced-tokens_per_minute", ""),
    ({"advanced-fail_on_error": "2.5"}, "id_advanced-fail_on_error", ""),
    ({**SCORERS, "scorer-numeric-weight": "-1"}, "id_scorers", "numeric.weight"),
    (NO_WEIGHT, "id_scorers", "All scorers have the weight 0. At least one must count."),
    ({**SCORERS, "combine": "any"}, "id_combine", ""),
    (WEBHOOK, "id_scorers", "Webhooks are sent to public addresses only"),
]


@table(*PROBLEMS)
def test_a_problem_is_said_once_at_its_field(alice, changes, field, says):
    (problem,) = problems_of(alice, {**FILLED, **changes})
    assert problem.field == field
    assert says in problem.message
    assert not Run.objects.exists()


def test_a_refused_form_links_to_its_fields_and_keeps_all_that_was_typed(browser):
    typed = {
        **FILLED,
        "max_concurrent": "0",
        "batch_size": "0",
        "repeats": "two",
        "parameter-temperature": "hot",
        "yaml": "kind: [evaluate",
        "rows": "a,b\n1,2,3",
        "draft": DRAFT,
    }
    answer = browser.post(reverse("run_new"), typed)
    page = answer.text
    assert (answer.status_code, forgotten_by(answer)) == (400, None)
    assert 'data-start="refused"' in page
    assert answer.context["draft"] == DRAFT  # the next try is of the same draft
    problems = answer.context["problems"]
    assert f"Fix {len(problems)} problems to launch" in page
    wanted = {"id_parameters", "id_repeats", "id_max_concurrent", "id_batch_size"}
    assert {one.field for one in problems} == wanted
    assert [one for one in problems if f'<a href="#{one.field}">{one.label}</a>' not in page] == []
    assert [field for _, field, _ in PROBLEMS if f'id="{field}"' not in page] == []
    for field, label in (("max_concurrent", "Calls at once"), ("batch_size", "Batch size")):
        assert (f"id_{field}", label) in [one[:2] for one in problems]
        assert f'<label for="id_{field}">{label}</label>' in page
    assert "It does not limit the number of rows." in page
    assert "data-parameters open" in page
    again = sent_by(page)
    sent = {name: value if isinstance(value, list) else [value] for name, value in typed.items()}
    assert {name: again.get(name) for name in sent} == sent
    assert not Run.objects.exists()


def test_yaml_is_read_by_the_same_schema_and_shows_what_the_form_cannot(alice, browser):
    typed = (
        "name: by hand\nkind: evaluate\ndataset: sums\nscorers: [exact]\n"
        "prompts: [{name: plain, user: '{{question}}'}]\n"
        "models: [{endpoint: simulated, model: sim-small, parameters: {temperature: 0}},\n"
        "  {endpoint: simulated, model: sim-small}]\n"
    )
    browser.post(reverse("run_new"), {"mode": "yaml", "yaml": f"{typed}cache: off\n"})
    run = Run.objects.get()
    assert run.name == "by hand"
    assert read_configuration(run.document).cache == "off"
    (refused,) = problems_of(alice, {"mode": "yaml", "yaml": f"{typed}cache: on\n"})
    assert refused.label == "cache"
    assert "Choose use, refresh or off" in refused.message
    assert browser.post(reverse("run_new"), {"mode": "yaml", "yaml": "kind: ["}).status_code == 400
    again = duplicate_of(browser, run).context["filled"]
    assert (again.mode, again.yaml_document()) == ("yaml", left_open(run))


def test_prompts_are_added_without_scripts_and_it_is_said_what_differs(browser, alice, dataset):
    for button, numbers in (("add_prompt", [0, 4, 5]), ("remove_prompt", [4])):
        filled = launch(browser, **{button: "0"}).context["filled"]
        assert [prompt.index for prompt in filled.sections["evaluate"].prompts] == numbers
    assert not Run.objects.exists()
    run = create_run(alice, run_document(dataset))
    page = browser.get(reverse("run_new"), {"run": run.pk}).text
    assert f"The same as run #{run.pk}." in page
    typed = {**sent_by(page), "name": "other", "repeats": "3"}
    panel = browser.post(f"{reverse('run_estimate')}?run={run.pk}", typed)
    assert [(one.key, one.before, one.after) for one in panel.context["differs"].shown] == [
        ("name", "first try", "other"),
        ("repeats", "1", "3"),
    ]


def estimate(browser, **changes):
    return browser.post(reverse("run_estimate"), {**FILLED, **changes})


def test_the_estimate_counts_calls_without_starting_anything_and_has_the_form_to_copy(browser):
    answer = estimate(browser)
    text = " ".join(re.sub(r"<[^>]+>", " ", answer.text).split())
    assert "24 trials" in text
    assert "8 calls at once: 4 candidates × 2 cases." in text
    assert "raising Calls at once (max_concurrent)" in text
    assert answer.context["estimate"].review == (
        "Launch tries 4 candidates with simulated/sim-small and simulated/sim-large on 3 cases, "
        "2 times each, scored by numeric. It sends up to 24 calls. Every answer is asked for "
        "again, whatever the cache has. No budget stops it."
    )
    demo = kind_named("rollout").demo
    assert demo
    played = review_text(read_configuration(demo.document), 18, 0, 0.0)
    assert played.startswith("Launch tries 3 policies on 18 episodes. ")  # nobody scores them
    cold = {"endpoint": "simulated", "model": "sim-small", "parameters": {"temperature": 0}}
    asked = run_document(Dataset(name="sums", version=1), models=[cold], repeats=2)
    told = review_text(read_configuration(asked), 3, 6, 0.0)
    assert "At temperature 0 the tries of simulated/sim-small will hardly differ." in told
    stops = estimate(browser, budget_calls="10", **{"advanced-fail_on_error": "0.1"})
    end = "It pauses at 10 calls or when more than 10% of its trials fail."
    assert str(stops.context["estimate"].review).endswith(end)
    assert estimate(browser, models=[]).context["estimate"] is not None
    empty = browser.post(reverse("run_estimate"), {"prompts": ["0"]}).text
    assert 'href="#id_models"' in empty  # what is missing
    assert "data-form-as-curl" not in empty  # the API would refuse it
    assert not Run.objects.exists()
    hostile = "$(boom) 'it' </textarea><b>"
    answer = estimate(browser, name=hostile).text
    copies = r"<textarea data-form-as-(\w+) hidden disabled>\n(.*?)</"
    copied = dict(re.findall(copies, answer, re.DOTALL))
    document = read_document(unescape(copied["yaml"]))
    assert document["name"] == hostile
    first, *_, body, end = unescape(copied["curl"]).splitlines()
    assert first == "curl -sS -X POST http://testserver/api/v1/runs \\"
    assert (json.loads(body), end) == ({"configuration": document}, "CONFIGURATION")


FEW = {"prompts": ["0"], "other_models": "", "repeats": "1", "max_concurrent": "4"}


@table(
    (FEW, 200, "4 calls at once: 1 candidate × 3 cases; 1 stay unused: there are no more trials."),
    ({}, 200, "50 calls at once: 4 candidates × 6 cases; 26 stay unused: there are no more"),
    # two of each of the two models
    ({}, 2, "4 calls at once (the endpoints allow no more of the 50): 4 candidates × 1 case."),
)
def test_the_estimate_shares_the_calls_that_are_really_allowed(browser, changes, at_once, says):
    Endpoint.objects.update(max_concurrent=at_once)
    assert says in estimate(browser, **{"max_concurrent": "50", **changes}).text
