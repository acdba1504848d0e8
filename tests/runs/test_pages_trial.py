"""The trial page: the other answers to its case, its words against the expected ones, its call."""

import pytest
from django.urls import reverse

from runs.models import Endpoint, EndpointKind
from runs.secrets import encrypt
from runs.selectors.scores.requests import first_calls
from tests.harness.factories import (
    add_cached_reply,
    add_candidate,
    add_score,
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    make_run,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(alice):
    make_endpoint()
    return make_run(alice, make_dataset(alice))


def case_of(run, position=0):
    return run.dataset.cases.get(position=position)


def page_of(person, run, position=0, **query):
    answer = client_of(person).get(reverse("trial", args=[run.pk, position]), query)
    assert answer.status_code == 200
    return answer.content.decode()


def beside_of(page):
    return page.split('id="beside-title"')[1].split("</section>")[0]


def test_all_prompts_and_repeats_on_a_case_stand_beside_each_other(alice, run):
    """K prompts answer one query; those of other cases are elsewhere."""
    plain, terse = run.candidates.get(), add_candidate(run, "terse")
    add_score(run, case_of(run), plain, 0, answer="plain says 1")
    add_score(run, case_of(run), plain, 1, repeat=1, answer="plain repeats 1")
    add_score(run, case_of(run), terse, 2, answer="terse says 1", value=0.0, passed=False)
    add_score(
        run, case_of(run), terse, 3, repeat=1, error_class="timeout", error_message="took 60 s"
    )
    add_score(run, case_of(run, 1), terse, 4, answer="of another case")
    run.candidates.filter(pk=terse.pk).update(scored=2, value_sum=2.0)
    run.candidates.filter(pk=plain.pk).update(scored=2, value_sum=1.0)
    beside = beside_of(page_of(alice, run, 0))
    order = [
        "terse says 1",
        "took 60 s",
        "plain says 1",
        "plain repeats 1",
    ]  # the best candidate first
    places = [beside.index(text) for text in order]
    assert places == sorted(places)
    assert "of another case" not in beside
    assert "This trial" in beside[places[1] : places[2]]
    assert f'href="{reverse("trial", args=[run.pk, 2])}"' in beside


def test_of_many_candidates_the_best_and_its_own_are_shown(alice, run):
    own = run.candidates.get()
    others = [add_candidate(run, f"prompt {number}") for number in range(14)]
    for number, candidate in enumerate([own, *others]):
        add_score(run, case_of(run), candidate, number, answer=f"answer {number}.")
        candidate.scored, candidate.value_sum = 1, number / 20
        candidate.save()
    beside = beside_of(page_of(alice, run, 0))
    shown = [number for number in range(15) if f"answer {number}." in beside]
    assert shown == [0, *range(6, 15)]
    assert f'href="{reverse("run_scores", args=[run.pk])}?case=0"' in beside
    assert "All 15" in beside


def test_the_answer_is_compared_with_the_expected_one_word_by_word(alice, run):
    candidate = run.candidates.get()
    add_score(run, case_of(run), candidate, 0, answer="It is <b>2</b>.")
    add_score(run, case_of(run, 1), candidate, 1, answer="2")
    page = page_of(alice, run, 0)
    assert 'class="visually-hidden">[new: </span>It is &lt;b&gt;' in page
    assert "The answer is the same, word by word." in page_of(alice, run, 1)


@pytest.mark.parametrize(
    ("view", "part"),
    [
        ("markdown", "<strong>four</strong>"),
        ("json", "It is not JSON"),
        ("plain", "**four**</pre>"),
        ("nonsense", "**four**</pre>"),
    ],
)
def test_an_answer_can_be_looked_at_in_other_ways(alice, run, view, part):
    add_score(run, case_of(run), run.candidates.get(), 0, answer="**four**")
    page = page_of(alice, run, 0, view=view, status="ok")
    assert part in page.replace("\n>", ">")
    assert 'href="?view=json&amp;status=ok"' in page


def kept_in_cache(run, payer, **fields):
    score = add_score(run, case_of(run), run.candidates.get(), 0, **fields)
    key = first_calls(run, [score])[0].key
    add_cached_reply(payer, key)
    return key


def test_a_cached_answer_says_where_it_came_from(alice, run):
    payer = make_run(alice, run.dataset)
    key = kept_in_cache(run, payer, cached=True)
    page = page_of(alice, run)
    assert f'href="{reverse("cache_entry", args=[key])}"' in page
    assert f'<a href="{payer.get_absolute_url()}">run {payer.pk}</a>' in page


def test_of_an_answer_that_others_paid_for_only_the_key_is_told(alice, run):
    payer = make_run(make_person("bob"), run.dataset)
    key = kept_in_cache(run, payer, cached=True)
    page = page_of(alice, run)
    assert key in page
    assert reverse("cache_entry", args=[key]) not in page
    assert payer.get_absolute_url() not in page


def test_a_call_can_be_copied_as_curl_without_its_key(alice, run):
    Endpoint.objects.update(
        kind=EndpointKind.ANTHROPIC,
        base_url="https://models.example/v1",
        key_ciphertext=encrypt("sk-very-secret"),
    )
    case = case_of(run)
    case.fields = {"question": "Quote ' and \"\nREQUEST\n$(id) `id`", "expected": "x"}
    case.save()
    add_score(run, case, run.candidates.get(), 0)
    page = page_of(alice, run)
    assert "sk-very-secret" not in page
    command = page.split('id="curl"')[1].split("</pre>")[0]
    assert "https://models.example/v1/messages" in command
    assert "x-api-key: $API_KEY" in command
    body = command.splitlines()[-2]
    assert "REQUEST" in body  # the text cannot end the body: it is one line
    assert "$(id)" in body


def test_a_call_of_the_built_in_provider_has_no_address_to_copy(alice, run):
    add_score(run, case_of(run), run.candidates.get(), 0)
    assert 'id="curl"' not in page_of(alice, run)


def test_the_pages_of_a_trial_need_no_more_queries_for_more_answers(
    alice, run, django_assert_max_num_queries
):
    candidates = [run.candidates.get(), *(add_candidate(run, f"p{n}") for n in range(9))]
    for number, candidate in enumerate(candidates):
        for repeat in range(5):
            add_score(run, case_of(run), candidate, number * 5 + repeat, repeat=repeat)
    client = client_of(alice)
    with django_assert_max_num_queries(24):
        client.get(reverse("trial", args=[run.pk, 0]))
