"""The trial page: the other answers to its case, its words against the expected ones, its call; and
answers that ended at their length limit: marked, counted, found, and explained."""

from html import unescape

import pytest
from django.urls import reverse

from runs.models import Endpoint, Run
from runs.secrets import encrypt
from runs.selectors.scores.requests import first_calls
from runs.services.datasets.storing import store_rows
from tests.engine.test_messages import PNG, PNG_URI, WITH_IMAGE
from tests.harness.factories import add_cached_reply, add_candidate, add_score, make_run
from tests.harness.table import table
from tests.runs.conftest import show
from tests.runs.test_pages_hostile import PAYLOADS, foreign_markup

pytestmark = pytest.mark.django_db

TOLD = "Cut at max_tokens (24): the answer ended at its length limit. Raise max_tokens."


@pytest.fixture
def run(alice, dataset):
    return make_run(alice, dataset)


@pytest.fixture
def cut_run(alice, dataset):
    """Trial 0 asked for nothing special; trial 1 was cut at max_tokens."""
    run = make_run(alice, dataset, truncated=1, done=2, scored=2)
    short = add_candidate(run, "terse")
    short.document["model"]["parameters"] = {"max_tokens": 24, "temperature": 0.2}
    short.save()
    add_score(run, case_of(run), run.candidates.get(position=0), 0)
    add_score(run, case_of(run), short, 1, truncated=True)
    return run


def case_of(run, position=0):
    return run.dataset.cases.get(position=position)


def page_of(person, run, position=0, **query):
    return show(person, "trial", run.pk, position, **query)


def beside_of(page):
    return page.split('id="beside-title"')[1].split("</section>")[0]


def test_all_prompts_and_repeats_on_a_case_stand_beside_each_other(alice, run):
    """K prompts answer one query; those of other cases are elsewhere."""
    plain, terse = run.candidates.get(), add_candidate(run, "terse")
    add_score(run, case_of(run), plain, 0, answer="plain says 1")
    add_score(run, case_of(run), plain, 1, repeat=1, answer="plain repeats 1")
    add_score(run, case_of(run), terse, 2, answer="terse says 1", value=0.0, passed=False)
    late = {"error_class": "timeout", "error_message": "took 60 s"}
    add_score(run, case_of(run), terse, 3, repeat=1, **late)
    add_score(run, case_of(run, 1), terse, 4, answer="of another case")
    run.candidates.filter(pk=terse.pk).update(scored=2, value_sum=2.0)
    run.candidates.filter(pk=plain.pk).update(scored=2, value_sum=1.0)
    beside = beside_of(page_of(alice, run, 0))
    # The best candidate first.
    order = ["terse says 1", "took 60 s", "plain says 1", "plain repeats 1"]
    places = [beside.index(text) for text in order]
    assert places == sorted(places)
    assert "of another case" not in beside
    assert "This trial" in beside[places[1] : places[2]]
    assert f'href="{reverse("trial", args=[run.pk, 2])}"' in beside


def test_of_many_the_best_and_its_own_are_shown(browser, run, django_assert_max_num_queries):
    own = run.candidates.get()
    others = [add_candidate(run, f"prompt {number}") for number in range(14)]
    for number, candidate in enumerate([own, *others]):
        add_score(run, case_of(run), candidate, number, answer=f"answer {number}.")
        candidate.scored, candidate.value_sum = 1, number / 20
        candidate.save()
    with django_assert_max_num_queries(24):
        beside = beside_of(browser.get(reverse("trial", args=[run.pk, 0])).text)
    assert [number for number in range(15) if f"answer {number}." in beside] == [0, *range(6, 15)]
    assert f'href="{reverse("run_scores", args=[run.pk])}?case=0"' in beside
    assert "All 15" in beside


def test_an_answer_is_compared_word_by_word_and_looked_at_in_other_ways(alice, run):
    candidate = run.candidates.get()
    add_score(run, case_of(run), candidate, 0, answer="**four** <b>2</b>")
    add_score(run, case_of(run, 1), candidate, 1, answer="2")
    for view, part in (
        ("markdown", "<strong>four</strong>"),
        ("json", "It is not JSON"),
        ("nonsense", "**four** &lt;b&gt;2&lt;/b&gt;</pre>"),
    ):
        page = page_of(alice, run, 0, view=view, status="ok")
        assert part in page.replace("\n>", ">"), view
        assert 'href="?view=json&amp;status=ok"' in page, view
    assert 'class="visually-hidden">[new: </span>**four** &lt;b&gt;' in page
    assert 'id="curl"' not in page  # the built-in provider has no address
    assert "The answer is the same, word by word." in page_of(alice, run, 1)


def test_a_cached_answer_says_where_it_came_from_to_those_who_may_see_that(alice, bob, run):
    score = add_score(run, case_of(run), run.candidates.get(), 0, cached=True)
    key, payer = first_calls(run, [score])[0].key, make_run(alice, run.dataset)
    kept = add_cached_reply(payer, key)
    page = page_of(alice, run)
    assert f'href="{reverse("cache_entry", args=[key])}"' in page
    assert f'<a href="{payer.get_absolute_url()}">run {payer.pk}</a>' in page
    kept.run = make_run(bob, run.dataset)
    kept.save()
    page = page_of(alice, run)
    assert key in page
    assert reverse("cache_entry", args=[key]) not in page
    assert kept.run.get_absolute_url() not in page


def test_a_cut_answer_is_marked_counted_found_and_explained(alice, cut_run):
    number = cut_run.pk
    rows = show(alice, "run_scores", number, status="truncated").split("<tbody")[1]
    assert rows.count("<tr>") == 1
    whole = show(alice, "run_scores", number).split("<tbody")[1]
    assert (whole.count("<tr>"), whole.count("cut<span")) == (2, 1)
    page = show(alice, "run", number)
    assert "1 answer was cut at the length limit (max_tokens)." in page
    assert f'href="{reverse("run_scores", args=[number])}?status=truncated"' in page
    own, limited = (page_of(alice, cut_run, position) for position in range(2))
    assert "<dt>Parameters</dt><dd>the model&#x27;s own defaults</dd>" in own
    assert "<dt>Parameters</dt><dd>max_tokens 24, temperature 0.2</dd>" in limited
    assert (TOLD in limited, "Cut at" in own) == (True, False)
    assert TOLD in show(alice, "trial_row", number, 1)
    cut_run.scores.filter(position=0).update(truncated=True)  # by a limit that nobody set
    own = page_of(alice, cut_run, 0)
    assert "Cut at the model&#x27;s own length limit" in own
    assert "Set max_tokens" in own
    Run.objects.update(truncated=0)
    assert "data-cut hidden" in show(alice, "run", number)


@table(
    ("truncated", "It is", "Raise max_tokens in the model&#x27;s parameters"),
    ("filtered", "I cannot help", "answers.score_filtered: true"),
    ("no_text", "", "answers.score_no_text: true"),
)
def test_an_answer_that_is_not_scored_is_shown_counted_and_found(alice, cut_run, flaw, kept, told):
    fields = {"value": None, "passed": None, "error_message": "Not whole.", "error_class": flaw}
    cut_run.scores.filter(position=1).update(answer=kept, truncated=flaw == "truncated", **fields)
    trial = page_of(alice, cut_run, 1)
    assert told in trial
    assert (f'tabindex="0">{kept}</pre>' if kept else "The answer is empty.") in trial
    assert "the call failed" not in trial
    rows = show(alice, "run_scores", cut_run.pk, status=flaw).split("<tbody")[1]
    assert (rows.count("<tr>"), kept in rows) == (1, True)
    assert "cut<span" not in rows  # the result says it already
    errors = show(alice, "run_errors", cut_run.pk)
    assert told in errors
    assert f"?error={flaw}" in errors


def test_a_pipeline_shows_parameters_and_cuts_of_each_step(alice, cut_run):
    run = cut_run
    chat = {"system": "", "user": "{{question}}"}
    plain = {"endpoint": "simulated", "model": "m", "parameters": {}}
    draft = {"name": "draft", **chat, "model": {**plain, "parameters": {"max_tokens": 3}}}
    first, second = {"name": "plan", **chat, "model": plain}, {"name": "solve", "agent": "x"}
    document = {"steps": [first, {**second, "calls": [draft]}]}
    run.candidates.filter(position=1).update(document=document)
    steps = [{"name": name, "models": ["simulated/m"]} for name in ("plan", "solve")]
    shared = {name: run.document[name] for name in ("name", "dataset", "scorers")}
    run.kind, run.document = "select", {**shared, "kind": "select", "steps": steps}
    run.save()
    called = ["simulated/m", [], "an answer", "", 5.0, 1, 1, None, False]
    calls = [["plan", *called], ["solve.draft", *called, True]]  # the first as 0.1 stored it
    run.scores.filter(position=1).update(calls=calls)
    first, second = page_of(alice, run, 1).split("step-call")[1:]
    assert "Parameters: the model&#x27;s own defaults" in first
    assert "Parameters: max_tokens 3" in second
    assert "Cut at max_tokens" not in first
    assert second.count("Cut at max_tokens (3)") == 2  # of the step, and of the pipeline


# --- Messages, images and tools are text, and nothing is loaded for them

TOOL = {"name": "look_up", "description": "".join(PAYLOADS[:8]), "parameters": {"type": "object"}}


def trial(alice, prompt, fields):
    run = make_run(alice, store_rows(alice, "cells", [fields]))
    candidate = run.candidates.get()
    candidate.document = {**candidate.document, "prompt": {"name": "talk", **prompt}}
    candidate.save(update_fields=["document"])
    return add_score(run, case_of(run), candidate, 0, answer='{"name":"look_up"}')


def test_messages_images_and_tools_are_text(alice, dataset):
    spoken = [
        {"role": "user", "content": [{"text": "".join(PAYLOADS[:20])}]},
        {"role": "assistant", "content": [{"text": "".join(PAYLOADS[20:40])}]},
        *WITH_IMAGE,
    ]
    content = {"messages": spoken, "tools": [TOOL], "tool_choice": "look_up"}
    fields = {"question": "".join(PAYLOADS[:5]), "picture": PNG_URI}
    page = page_of(alice, trial(alice, content, fields).run)
    assert foreign_markup(page) == []
    assert f"[image: PNG, {len(PNG)} bytes]" in page
    assert "Assistant message" in page
    assert ("Tools that may be called" in page, "<img" in page) == (True, False)


@pytest.mark.usefixtures("dataset")
def test_an_address_is_not_loaded_and_a_request_that_is_never_sent_has_no_command(alice):
    """Ollama takes no addresses."""
    score = trial(alice, {"messages": WITH_IMAGE}, {"picture": "https://evil.example/a.png"})
    Endpoint.objects.update(key_ciphertext=encrypt("sk-very-secret"))
    for kind in ("ollama", "anthropic"):
        Endpoint.objects.update(kind=kind, base_url="http://127.0.0.1:9")
        page = unescape(page_of(alice, score.run))
        assert ("curl -sS" in page) == (kind == "anthropic")
        assert "sk-very-secret" not in page
    assert """-H 'x-api-key: '"$API_KEY" """ in page
    assert "[image at https://evil.example/a.png, fetched by the provider]" in page
    assert foreign_markup(page_of(alice, score.run)) == []
    case = score.case
    case.fields = {"picture": "javascript:alert(1)"}
    case.save()
    page = page_of(alice, score.run)
    assert "The prompt could not be filled in" in page
    assert "An image cannot be sent: javascript:alert(1)." in page
