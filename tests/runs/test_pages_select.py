"""A selection: its page, what lists, the API and comparisons make of it; and the new-run form."""

import re
from typing import Any

import pytest
import yaml
from django.urls import reverse
from django.utils.timezone import now

from runs.forms.new_run import read_post
from runs.forms.starting_points import from_document
from runs.kinds import following
from runs.kinds.select.standing import selection_of
from runs.models import Dataset, Endpoint, EndpointKind, Run, RunState
from runs.models import Score as ScoreRow
from runs.selectors.comparing.comparison import compare_runs
from runs.selectors.estimates.estimate import estimate
from runs.selectors.runs.best_candidates import find_leaders
from runs.selectors.runs.run_list import describe
from runs.selectors.runs.run_summary import summarise
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.runs import create_run
from tests.harness.factories import client_of, make_dataset, make_run
from tests.runs.comparing_parts import make_selection
from tests.runs.new_run_parts import posted, problems_of, read_form, sent_by
from workers.engine.kinds import read_configuration
from workers.engine.strategies import SELECTIONS

pytestmark = pytest.mark.django_db

CASES = 30
HOT = {"endpoint": "simulated", "model": "sim-large", "parameters": {"temperature": 1.0}}


@pytest.fixture
def selection(alice, endpoint):
    """The small model was given up early, with nothing right."""
    return make_selection(alice, make_dataset(alice, rows=CASES))


def page_of(person, run, part=""):
    return client_of(person).get(f"/runs/{run.pk}/{part}").text


def test_report_and_page_tell_who_won_what_was_saved_and_the_fate_of_all(selection, alice):
    report = selection_of(selection)
    best, other = report.rows
    assert (best.accuracy, best.latency_ms) == (1.0, 120.0)
    assert best.dollars_per_sample == pytest.approx(0.002)
    assert "1.000 worse than solver=simulated/sim-large" in other.why
    assert report.saved_share == 1 - selection.done / (2 * CASES)
    done = f"{selection.done} of"
    assert take_snapshot(selection)["text"]["progress"] == f"{done} {selection.planned} trials"
    selection.state, selection.ended, selection.planned = RunState.PAUSED, None, 2 * CASES
    text = take_snapshot(selection)["text"]  # until it is decided, what is planned is a bound
    assert text["progress"] == f"{done} at most {2 * CASES} trials"
    assert text["eta"] == f"paused, at most {2 * CASES - selection.done} trials left"
    assert report.rounds[0].split == (2, 10)  # of 40 slots: there are two, in rounds of ten cases
    page = page_of(alice, selection)
    words = " ".join(page.split())
    for text in (
        "Combinations</h2>",
        "as set for paired elimination",
        "Chosen: solver=sim-large</b>",  # the endpoint that all share is left out
        "Given up in round",
        'class="given-up"',
        f"{selection.done} of {2 * CASES} evaluations",
        'data-plot="latency"',
        'data-plot="price"',
        'class="arm arm-best"',
        'class="arm arm-gone"',
        "on the front</span>",
        'Calls at once in the last round</span> <span class="tile-value"> 2 × 10<',
        "combinations × cases; 40 calls are allowed<",
    ):
        assert text in words, text
    assert "data-not-separable" not in page
    assert "Compared on equal data" not in page  # both saw as many cases
    assert page.count("plot-point-front") == 2  # the chosen one, in both plots
    selection.snapshot_of["endpoints"]["simulated"]["max_concurrent"] = 4  # of each of two models
    selection.state, selection.ended = RunState.RUNNING, None
    selection.save(update_fields=["snapshot_of", "state", "ended"])
    rows = page_of(alice, selection, "leaderboard/")  # fetched alone while it goes on
    assert ("Leads" in rows, "<html" in rows) == (True, False)
    assert not re.search(r"<script|<style|\sstyle=|\son[a-z]+\s*=\s*[\"']", rows)
    assert "<svg" in rows
    words = " ".join(page_of(alice, selection).split())
    assert '<span class="tile-value"> 1 × 8<' in words
    assert "combinations × cases; 8 calls are allowed<" in words


def test_the_page_says_when_the_best_are_equal_and_draws_what_is_expected_hollow(alice, endpoint):
    models = ["simulated/sim-large", HOT, "simulated/<img src=x onerror=alert(1)>"]
    steps = [{"name": "solver", "user": "{{question}}", "models": models}]
    tied = make_selection(alice, make_dataset(alice, rows=CASES), steps=steps)
    page = " ".join(page_of(alice, tied).split())
    assert page.count("&lt;img src=x") >= 5
    assert "<img src=x" not in page
    assert f"on the same {CASES} cases the accuracies are equal (95 % interval" in page
    step = {"user": "{{question}}", "models": ["simulated/sim-small", "simulated/sim-large"]}
    steps = [{"name": name, **step} for name in ("one", "two", "three")]
    strategy = {"name": "bayesian", "sample_fraction": 0.5}
    run = make_selection(alice, make_dataset(alice, rows=5), steps=steps, strategy=strategy)
    page = page_of(alice, run)
    assert page.count('class="arm-dot arm-expected"') == 4
    assert page.count("promising</span>") == 1


def test_a_refresh_reads_what_is_new_or_was_scored_anew(selection, django_assert_max_num_queries):
    before = selection_of(selection).rows[-1]
    Run.objects.filter(pk=selection.pk).update(state=RunState.CANCELLED)
    changed = Run.objects.select_related("dataset").get(pk=selection.pk)
    with django_assert_max_num_queries(4) as asked:
        again = selection_of(changed)
    [history] = [q["sql"] for q in asked.captured_queries if '"latency_ms"' in q["sql"]]
    assert f'"position" >= {selection.done}' in history
    assert again.evaluations == selection.done
    # As after a retry: the same number of scores, and another value.
    row = selection.scores.filter(candidate__key=before.key).first()
    assert row is not None
    row.delete()
    row.pk, row.value = None, 1.0
    row.save(force_insert=True)
    Run.objects.filter(pk=selection.pk).update(ended=now())
    after = selection_of(Run.objects.get(pk=selection.pk))
    found = next(one for one in after.rows if one.key == before.key)
    assert (before.accuracy, found.accuracy) == (0.0, 1 / found.n)


def test_a_selection_that_goes_on_is_followed_to_where_a_fresh_look_is(selection, set_constant):
    rows = list(selection.scores.order_by("position"))
    asked = selection.asked
    selection.scores.all().delete()
    for end in (3, 2 * CASES // 3, asked):
        ScoreRow.objects.bulk_create(rows[selection.scores.count() : end])
        Run.objects.filter(pk=selection.pk).update(asked=end, done=end, state=RunState.RUNNING)
        run = Run.objects.get(pk=selection.pk)
        followed = selection_of(run)
        following._warm.clear()
        assert selection_of(run).rows == followed.rows
    set_constant(following, "WARM", 0)  # no more runs than these are kept
    assert (selection_of(run).rows, len(following._warm)) == (followed.rows, 0)


def make_many(owner, steps=2, models=7):
    names = [f"m{number}" for number in range(models)]
    Endpoint.objects.create(name="many", kind=EndpointKind.SIMULATED, model_names=names)
    step = {"user": "{{question}}", "models": [f"many/{name}" for name in names]}
    document = {
        "name": "many",
        "kind": "select",
        "dataset": make_dataset(owner, "tiny").name,
        "steps": [{"name": f"step{number}", **step} for number in range(steps)],
        "scorers": ["exact"],
    }
    return create_run(owner, document)


def test_of_many_combinations_the_first_and_the_last_are_shown(alice):
    run = make_many(alice)
    assert client_of(alice).get(f"/runs/{run.pk}/litellm.yaml").status_code == 409  # no choice yet
    for query, rows, told in (
        ("", 25, "24 more"),
        ("?all=1", 49, ""),
        ("?find=step0=many/m3", 7, ""),
        ("?find=step0=M3", 7, ""),
        ("?find=nobody", 0, "No combination has “nobody”"),
    ):
        page = page_of(alice, run, f"leaderboard/{query}")
        counts = (page.count('<li class="arm">'), page.count("Not tried</td>"))
        assert (*counts, told in page) == (rows, rows, True), query


def test_tabs_are_those_of_every_kind_and_files_the_table_and_the_choice(browser, selection):
    table = browser.get(f"/runs/{selection.pk}/combinations.csv")
    assert table["Content-Disposition"] == (
        f'attachment; filename="run-{selection.pk}-combinations.csv"'
    )
    assert len(table.text.splitlines()) == 3
    config = yaml.safe_load(browser.get(f"/runs/{selection.pk}/litellm.yaml").content)
    assert browser.get("/runs/?kind=select").status_code == 200
    tabs = ("scores/", "errors/", "events/", "configuration/", "trials/0/")
    found = {tab: browser.get(f"/runs/{selection.pk}/{tab}").status_code for tab in tabs}
    assert found == dict.fromkeys(tabs, 200)  # as for every kind
    [model] = config["model_list"]
    assert model["model_name"] == "solver"
    assert model["litellm_params"] == {
        "model": "openai/sim-large",
        "api_key": "os.environ/SIMULATED_API_KEY",
    }
    assert model["model_info"]["accuracy"] == 1.0


def test_a_selection_scores_and_is_compared_as_what_it_chose_else_who_saw_most(selection, alice):
    other = make_run(alice, selection.dataset)
    rows = {row.run.pk: row for row in describe([selection, other])}
    found = rows[selection.pk].score
    assert found is not None
    assert found.value == 1.0  # half of what was tried was wrong
    assert rows[other.pk].score is None
    for runs in ([selection], [selection, other]):
        told = summarise(runs)[0]  # as the API tells it
        assert told.best is not None
        assert told.best.name == "solver=simulated/sim-large"
        assert told.score.value == told.best.value == 1.0
        assert told.score.n == told.best.n
    step = {"name": "solver", "user": "{{question}}", "models": [HOT]}
    later = make_selection(alice, selection.dataset, steps=[step], strategy="brute_force")
    compared = compare_runs(selection, later)
    [change] = compared.candidates
    assert change.before == "solver=simulated/sim-large"
    assert change.after.startswith("solver=simulated/sim-large {")
    assert compared.only_before == compared.only_after == []
    assert compared.overall is not None
    assert compared.overall.mean == 0.0
    small = selection.candidates.get(name__endswith="sim-small")
    selection.candidates.filter(pk=small.pk).update(scored=1)
    selection.chosen = small.position
    selection.save(update_fields=["chosen"])
    for others in ([], [make_selection(alice, selection.dataset)]):
        assert find_leaders([selection, *others])[selection.pk].candidate == small
    selection.chosen = None  # as selections of an earlier version have none
    selection.save(update_fields=["chosen"])
    assert find_leaders([selection])[selection.pk].candidate.name == "solver=simulated/sim-large"
    selection.state = RunState.RUNNING
    assert find_leaders([selection]) == {}
    assert describe([selection])[0].score is None


# --- The new-run form: what it sends, keeps, and says is wrong

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


@pytest.mark.usefixtures("dataset")
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
    for objective, is_warned in (({"lambda_cost": 0.5}, True), ({}, False)):  # no model has a price
        found = estimate({**DOCUMENT, "objective": objective}, Dataset.objects.all())
        assert ("The price will not count" in found.review) is is_warned
        assert "times as fast" not in found.limited_by  # rounds wait for each other
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


@pytest.mark.usefixtures("dataset")
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
