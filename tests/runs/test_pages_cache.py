"""The cache page: figures, search, one answer, and removing some after counting them."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.timezone import now

from runs.models import CachedReply, RemovedReply
from runs.selectors.cache_page import Pruning, list_removals
from runs.services.cache import prune_cache, remove_due_answers
from runs.services.removing.erasing import erase_dataset
from tests.harness.factories import add_cached_reply, client_of, make_dataset, make_run
from tests.runs.test_pages_hostile import PAYLOADS, foreign_markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(alice):
    totals = {"done": 200, "cached": 50, "calls_joined": 12, "calls_sent": 150}
    return make_run(alice, make_dataset(alice), **totals, cost_saved=1.25)


def key_of(number: int) -> str:
    return f"{number:064x}"


def fill(run, number: int, **fields) -> list[str]:
    """So many answers, the first one the newest."""
    keys = [key_of(place) for place in range(number)]
    for place, key in enumerate(keys):
        given = {"text": f"answer {place}", "created": now() - timedelta(hours=place)}
        add_cached_reply(run, key, **{**given, **fields})
    return keys


def page_of(person, **query) -> str:
    answer = client_of(person).get(reverse("cache"), query)
    assert answer.status_code == 200
    return answer.content.decode()


def words_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def shown(person, **query) -> list[str]:
    """The keys of the answers that a page lists."""
    return re.findall(r'href="/cache/([0-9a-f]{64})/"', page_of(person, **query))


def test_the_figures_tell_what_the_cache_saved(alice, run):
    fill(run, 3)
    words = words_of(page_of(alice))
    for figure in (
        "Answers kept 3 about 804 B",
        "Hit rate, last day 25.0 % of 200 trials",
        "Hit rate, all time 25.0 %",
        "Calls saved 50",
        "Joined 12",
        "Money saved $1.25",
    ):
        assert figure in words
    run.cost_saved, run.created = 0, now() - timedelta(days=2)
    run.save(update_fields=["cost_saved", "created"])
    words = words_of(page_of(alice))
    assert "Hit rate, last day – of 0 trials" in words
    assert "Money saved – nothing saved has a known price" in words


def test_an_empty_cache_says_what_it_is_for(alice):
    words = words_of(page_of(alice))
    for text in ("Nothing kept yet", "When is a call the same?", "Never kept"):
        assert text in words


def test_answers_are_counted_by_model(alice, run):
    fill(run, 2)
    add_cached_reply(run, key_of(9), endpoint="openai-main", model="gpt/large")
    words = words_of(page_of(alice))
    assert "simulated sim-small 2" in words
    assert "openai-main gpt/large 1" in words
    assert shown(alice, model="openai-main/gpt/large") == [key_of(9)]


@pytest.mark.postgresql("types: a text with the sign that ends one, and moments with equal keys")
def test_paging_through_the_answers_shows_each_once(alice, run):
    """A place that does not exist is the first page."""
    same = now()  # a batch is stored at one moment
    keys = sorted(fill(run, 60, created=same), reverse=True)
    client, seen = client_of(alice), []
    query: dict[str, Any] = {}
    while True:
        page = client.get(reverse("cache"), query).context["page"]
        seen.append([entry.key for entry in page.entries])
        if not page.next:
            break
        query = {"start": page.next}
    assert [key for page in seen for key in page] == keys
    assert len(seen) > 2
    starts = ("x", "~", "2026-01-01~", "2026-01-01T00:00:00~ab", "\x00")
    assert {start: shown(alice, start=start) for start in starts} == dict.fromkeys(starts, seen[0])


@pytest.mark.postgresql("SQL: LIKE knows capitals, and signs that mean something to it")
def test_a_search_looks_at_keys_and_answers(alice, run):
    texts = {"a": "It is Paris.", "b": "Rome", "c": "100% abbb"}
    for place, (letter, answer) in enumerate(texts.items()):
        moment = now() - timedelta(hours=place)
        add_cached_reply(run, letter * 64, text=answer, created=moment)
    found = {
        "paris": "a",  # part of an answer, any case
        "100%": "c",
        "b" * 8: "b",  # the beginning of a key
        "B" * 8: "b",
        "bbb": "bc",  # a key and a text
        "nowhere": "",
    }
    for text, letters in found.items():
        assert shown(alice, q=text) == [letter * 64 for letter in letters], text
    assert "Type at least 3 characters." in page_of(alice, q="ro")
    assert shown(alice, q="ro") == []


def test_one_answer_shows_where_it_came_from(alice, run):
    (key,) = fill(run, 1, text="It is 4,\n<b>surely</b>.", latency_ms=1234.0)
    page = client_of(alice).get(reverse("cache_entry", args=[key])).content.decode()
    assert "It is 4,\n&lt;b&gt;surely&lt;/b&gt;." in page
    words = words_of(page)
    for fact in ("simulated/sim-small", "12 in, 3 out", "1.2 s", f"{run.name} #{run.pk}", key):
        assert fact in words
    assert run.get_absolute_url() in page


def test_a_stranger_sees_sums_but_no_answers_of_others(ada, bob, run):
    keys = [*fill(run, 2), key_of(7)]
    add_cached_reply(None, keys[2], text="of a run that is gone")
    assert "Answers kept 3" in words_of(page_of(bob))
    assert shown(bob) == shown(bob, q="answer") == shown(bob, q=keys[0][:10]) == []
    for key in keys:
        assert client_of(bob).get(reverse("cache_entry", args=[key])).status_code == 404
        assert client_of(ada).get(reverse("cache_entry", args=[key])).status_code == 200
    assert len(shown(ada)) == 3
    for key in (key_of(9), "x", "A" * 300):  # which are not there
        assert client_of(ada).get(reverse("cache_entry", args=[key])).status_code == 404


@pytest.mark.parametrize(
    ("query", "number"),
    [
        pytest.param({"older_than_days": "1"}, 1, id="by age"),
        pytest.param({"older_than_days": "0"}, 4, id="everything"),
        pytest.param({"model": "simulated/sim-large"}, 1, id="by model"),
        pytest.param({"run": "own"}, 3, id="by run"),
        pytest.param({"run": "own", "older_than_days": "1"}, 1, id="by run and age"),
        pytest.param({"run": "999999"}, 0, id="a run that is not there"),
    ],
)
def test_what_is_counted_is_what_is_removed(ada, run, query, number):
    fill(run, 2)
    add_cached_reply(run, key_of(8), created=now() - timedelta(days=2))
    add_cached_reply(None, key_of(9), model="sim-large")
    query = {name: str(run.pk) if value == "own" else value for name, value in query.items()}
    client, address = client_of(ada), reverse("cache_prune")
    page = client.get(address, query).content.decode()
    assert f"{number} answer" in words_of(page)
    assert CachedReply.objects.count() == 4, "counting removes nothing"
    if not number:
        assert "Nothing to remove." in page
        return
    hidden = dict(re.findall(r'type="hidden" name="(before|model|run)" value="([^"]*)"', page))
    answer = client.post(address, hidden, follow=True)
    removed = f"{number:,} cached answer{'s' * (number > 1)} removed."
    assert removed in words_of(answer.content.decode())
    assert CachedReply.objects.count() == 4 - number


def test_an_answer_kept_after_the_count_stays(ada, run):
    fill(run, 2)
    client, address = client_of(ada), reverse("cache_prune")
    page = client.get(address, {"older_than_days": "0"}).content.decode()
    (before,) = re.findall(r'name="before" value="([^"]*)"', page)
    add_cached_reply(run, key_of(9))
    client.post(address, {"before": before})
    assert [entry.key for entry in CachedReply.objects.all()] == [key_of(9)]


def test_many_answers_go_in_batches(ada, run):
    CachedReply.objects.bulk_create(
        CachedReply(
            key=key_of(number), endpoint="simulated", model="m", text="x", latency_ms=1,
            created=now(),
        )
        for number in range(2500)
    )  # fmt: skip
    client_of(ada).post(reverse("cache_prune"), {"model": "simulated/m"})
    assert not CachedReply.objects.exists()


def test_what_makes_no_sense_removes_nothing(ada, run):
    fill(run, 1)
    client = client_of(ada)
    senseless = [
        {},
        *({"older_than_days": days} for days in ("soon", "-1", "nan", "1e9")),
        {"model": "simulated/unknown"},
        *({"run": number} for number in ("all", "9" * 30)),
        {"before": "yesterday"},
    ]
    answers = [client.post(reverse("cache_prune"), data).status_code for data in senseless]
    assert answers == [400] * len(senseless)
    for options in (
        {},
        {"model": "sim-small"},
        {"older_than_days": -1.0},
        {"older_than_days": 1e9},
    ):
        with pytest.raises(CommandError):
            call_command("prune_cache", yes=True, **options)
    assert CachedReply.objects.exists()


def test_only_operators_remove_answers_and_others_see_why(alice, run):
    fill(run, 1)
    client = client_of(alice)
    assert client.post(reverse("cache_prune"), {"run": run.pk}).status_code == 403
    assert CachedReply.objects.exists()
    refusal = client.get(reverse("cache_prune"), {"run": run.pk})
    assert refusal.status_code == 403
    assert "You may not remove cached answers" in refusal.content.decode()
    assert "Only operators remove answers" in page_of(alice)


def test_hostile_answers_stay_text(ada, run):
    for place, text in enumerate(PAYLOADS):
        add_cached_reply(run, key_of(place), text=text, model=text[:190], endpoint=text[:60])
    client = client_of(ada)
    entries = [reverse("cache_entry", args=[key_of(place)]) for place in range(len(PAYLOADS))]
    typed = urlencode(dict.fromkeys(("q", "model", "start"), " ".join(PAYLOADS)))
    pages = {
        address: foreign_markup(client.get(address).content.decode())
        for address in (*entries, "/cache/", f"/cache/?{typed}", reverse("cache_prune"))
    }
    assert {address: tags for address, tags in pages.items() if tags} == {}
    assert len(pages) == len(PAYLOADS) + 3


def test_a_removal_is_undone_on_the_page_with_every_value_as_it_was(ada, run):
    keys = fill(run, 3)
    before = list(CachedReply.objects.order_by("key").values())
    client = client_of(ada)
    answer = client.post(reverse("cache_prune"), {"run": run.pk}, follow=True)
    assert "3 cached answers removed. They can be brought back below." in words_of(answer.text)
    add_cached_reply(run, keys[0], text="asked anew")
    (removal,) = list_removals()
    assert f'value="{removal.remove_after.isoformat()}"' in page_of(ada)
    sent = {"remove_after": removal.remove_after.isoformat()}
    answer = client.post(reverse("cache_restore"), sent, follow=True)
    assert "3 cached answers brought back." in words_of(answer.text)
    assert CachedReply.objects.get(key=keys[0]).text == "asked anew"
    assert list(CachedReply.objects.order_by("key").values())[1:] == before[1:]
    assert not RemovedReply.objects.exists()
    answer = client.post(reverse("cache_restore"), sent, follow=True)
    assert "These answers are gone, or are back already." in words_of(answer.text)


def test_removed_answers_go_for_good_when_their_time_is_over_or_at_once(ada, run):
    fill(run, 2)
    client = client_of(ada)
    client.post(reverse("cache_prune"), {"run": run.pk, "for_good": "on"})
    assert not RemovedReply.objects.exists()
    fill(run, 2)
    client.post(reverse("cache_prune"), {"run": run.pk})
    remove_due_answers()
    assert RemovedReply.objects.count() == 2
    RemovedReply.objects.update(remove_after=now() - timedelta(seconds=1))
    assert list_removals() == []
    remove_due_answers()
    assert not RemovedReply.objects.exists()


def test_a_removed_answer_is_erased_with_its_run(ada, run):
    fill(run, 1)
    prune_cache(Pruning(run_id=run.pk))
    assert erase_dataset(ada, run.dataset).erased["cached_answers"] == 1
    assert not RemovedReply.objects.exists()


def test_the_command_counts_removes_when_told_and_undoes_the_last_removal(run, capsys):
    fill(run, 30)

    def told_by(**options):
        call_command("prune_cache", **options)
        return capsys.readouterr().out

    assert "6 cached answers match" in told_by(older_than_days=1)
    assert CachedReply.objects.count() == 30
    assert "Removed 6 cached answers" in told_by(older_than_days=1, yes=True)
    told = told_by(older_than_days=0, yes=True)
    assert "Removed 24 cached answers. `prune_cache --undo`" in told
    for told in ("Brought back 24", "Brought back 6", "No removal can be undone."):
        assert told in told_by(undo=True)
    assert CachedReply.objects.count() == 30
    told_by(model="simulated/sim-small", run=run.pk, yes=True)
    assert not CachedReply.objects.exists()
