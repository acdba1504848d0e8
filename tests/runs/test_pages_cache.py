"""The cache page: figures, search, one answer, and removing some after counting them."""

import re
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils.timezone import now

from runs.forms.cache import PruneForm
from runs.models import CachedReply, RemovedReply
from runs.selectors.cache_page import Pruning, count_matching, group_by_model, list_removals
from runs.services import cache
from runs.services.cache import prune_cache, remove_due_answers, restore_answers
from runs.services.removing.erasing import erase_dataset
from tests.harness.factories import add_cached_reply, client_of, make_dataset, make_run
from tests.runs.conftest import said_by, show

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


def words_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def keys_on(page: str) -> list[str]:
    """Of the answers that it lists."""
    return re.findall(r'href="/cache/([0-9a-f]{64})/"', page)


def shown(person, **query) -> list[str]:
    return keys_on(show(person, "cache", **query))


def test_the_page_says_what_the_cache_is_for_holds_by_model_and_saved(alice, run):
    empty = words_of(show(alice, "cache"))
    for text in ("Nothing kept yet", "When is a call the same?", "Never kept"):
        assert text in empty
    fill(run, 2)
    add_cached_reply(run, key_of(9), endpoint="openai-main", model="gpt/large")
    words = words_of(show(alice, "cache"))
    for figure in (
        *("Answers kept 3 about 797 B", "Hit rate, last day 25.0 % of 200 trials"),
        *("Hit rate, all time 25.0 %", "Calls saved 50", "Joined 12", "Money saved $1.25"),
        *("simulated sim-small 2", "openai-main gpt/large 1"),
    ):
        assert figure in words
    run.cost_saved, run.created = 0, now() - timedelta(days=2)
    run.save(update_fields=["cost_saved", "created"])
    page = show(alice, "cache", model="openai-main/gpt/large")
    assert keys_on(page) == [key_of(9)]
    assert "Hit rate, last day – of 0 trials" in words_of(page)
    assert "Money saved – nothing saved has a known price" in words_of(page)


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
    starts = ("~", "2026-01-01~", "2026-01-01T00:00:00~ab", "\x00")
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
    short = show(alice, "cache", q="ro")
    assert ("Type at least 3 characters." in short, keys_on(short)) == (True, [])


def test_a_stranger_sees_sums_but_no_answers_of_others(ada, bob, run):
    (key,) = fill(run, 1, text="It is 4,\n<b>surely</b>.", latency_ms=1234.0)
    keys = [key, key_of(7)]
    gone = {"text": "of a run that is gone", "created": now() - timedelta(days=2)}
    add_cached_reply(None, keys[1], **gone)
    assert "Answers kept 2" in words_of(show(bob, "cache"))
    assert shown(bob) == shown(bob, q="surely") == shown(bob, q=key[:10]) == []
    assert len(shown(ada)) == 2
    pages = {}
    for address in (*keys, key_of(9), "x", "A" * 300):  # the last three are not there
        answers = [client_of(one).get(reverse("cache_entry", args=[address])) for one in (bob, ada)]
        pages[address] = [answer.status_code for answer in answers]
        if address == key:
            page = answers[1].text
    assert list(pages.values()) == [[404, 200]] * 2 + [[404, 404]] * 3
    assert "It is 4,\n&lt;b&gt;surely&lt;/b&gt;." in page
    words = words_of(page)
    for fact in ("simulated/sim-small", "12 in, 3 out", "1.2 s", f"{run.name} #{run.pk}", key):
        assert fact in words
    assert run.get_absolute_url() in page


@pytest.mark.usefixtures("ada")
def test_what_is_counted_is_what_is_removed_also_in_batches(run, set_constant):
    set_constant(cache, "BATCH", 3)  # of four
    fill(run, 2)
    add_cached_reply(run, key_of(8), created=now() - timedelta(days=2))
    add_cached_reply(None, key_of(9), model="sim-large")
    own = {"run": str(run.pk)}
    queries: list[tuple[dict[str, str], int]] = [
        ({"older_than_days": "1"}, 1),
        ({"older_than_days": "0"}, 4),
        ({"model": "simulated/sim-large"}, 1),
        (own, 3),
        ({**own, "older_than_days": "1"}, 1),
        ({"run": "999999"}, 0),
    ]
    for query, number in queries:
        form = PruneForm(query, groups=group_by_model())
        assert form.is_valid(), form.errors
        assert count_matching(form.selection()) == number, query
        assert CachedReply.objects.count() == 4, "counting removes nothing"
        done = prune_cache(form.selection())
        assert done.removed == number == 4 - CachedReply.objects.count(), query
        if done.remove_after:
            restore_answers(done.remove_after)


def test_what_makes_no_sense_removes_nothing_and_only_operators_remove(ada, alice, run):
    fill(run, 1)
    senseless: list[dict[str, str]] = [
        {},
        *({"older_than_days": days} for days in ("soon", "-1", "nan", "1e9")),
        {"model": "simulated/unknown"},
        *({"run": number} for number in ("all", "9" * 30)),
        {"before": "yesterday"},
    ]
    groups = group_by_model()
    assert [one for one in senseless if PruneForm(one, groups=groups).is_valid()] == []
    assert client_of(ada).post(reverse("cache_prune"), {}).status_code == 400
    options: list[dict[str, Any]] = [{}, {"model": "sim-small"}]
    for option in (*options, {"older_than_days": -1.0}, {"older_than_days": 1e9}):
        with pytest.raises(CommandError):
            call_command("prune_cache", yes=True, **option)
    assert "Only operators remove answers" in show(alice, "cache")
    assert CachedReply.objects.exists()


def test_a_removal_is_counted_confirmed_undone_as_it_was_and_over_with_its_time(ada, run):
    keys = fill(run, 3)
    before = list(CachedReply.objects.order_by("key").values())
    client, address = client_of(ada), reverse("cache_prune")
    assert "Nothing to remove." in client.get(address, {"run": "999999"}).text
    page = client.get(address, {"run": run.pk, "older_than_days": "0"}).text
    assert "3 answer" in words_of(page)
    hidden = dict(re.findall(r'type="hidden" name="(before|model|run)" value="([^"]*)"', page))
    add_cached_reply(run, key_of(9))  # kept after the count: it stays
    answer = client.post(address, hidden, follow=True)
    assert "3 cached answers removed. They can be brought back below." in words_of(answer.text)
    assert [entry.key for entry in CachedReply.objects.all()] == [key_of(9)]
    add_cached_reply(run, keys[0], text="asked anew")
    (removal,) = list_removals()
    assert f'value="{removal.remove_after.isoformat()}"' in answer.text
    sent = {"remove_after": removal.remove_after.isoformat()}
    answer = client.post(reverse("cache_restore"), sent, follow=True)
    assert "3 cached answers brought back." in words_of(answer.text)
    assert CachedReply.objects.get(key=keys[0]).text == "asked anew"
    assert list(CachedReply.objects.order_by("key").values())[1:-1] == before[1:]
    assert not RemovedReply.objects.exists()
    answer = client.post(reverse("cache_restore"), sent, follow=True)
    assert "These answers are gone, or are back already." in words_of(answer.text)
    client.post(address, {"run": run.pk, "for_good": "on"})
    assert (CachedReply.objects.count(), RemovedReply.objects.count()) == (0, 0)
    fill(run, 2)
    prune_cache(Pruning(run_id=run.pk))
    remove_due_answers()
    assert RemovedReply.objects.count() == 2
    RemovedReply.objects.update(remove_after=now() - timedelta(seconds=1))
    assert list_removals() == []
    remove_due_answers()
    assert not RemovedReply.objects.exists()
    fill(run, 1)
    prune_cache(Pruning(run_id=run.pk))
    assert erase_dataset(ada, run.dataset).erased["cached_answers"] == 1
    assert not RemovedReply.objects.exists()


def test_the_command_counts_removes_when_told_and_undoes_the_last_removal(run):
    fill(run, 30)
    told_by = partial(said_by, "prune_cache")
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
