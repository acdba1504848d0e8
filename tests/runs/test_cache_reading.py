"""Reading the cache: an entry that was damaged is a miss, and no trouble for the others."""

import pytest
from django.db import connection

from runs.models import CachedReply
from runs.selectors.cache import find_replies
from runs.services.chunks.recording import store_replies
from tests.harness.factories import add_cached_reply, make_dataset, make_person, make_run
from workers.engine.calling.cache import stored_reply
from workers.engine.records import Reply, Request

pytestmark = pytest.mark.django_db(transaction=True)

GOOD, BAD = "a" * 64, "b" * 64
UNREADABLE = {
    "sqlite": ("text", "CAST(x'ff41' AS TEXT)"),
    "postgresql": ("latency_ms", "'NaN'"),
}


@pytest.fixture
def run():
    alice = make_person("alice")
    return make_run(alice, make_dataset(alice))


def damage(column: str, value: str) -> None:
    """As a disk or a careless hand would: past everything that checks."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE runs_cachedreply SET {column} = {value} WHERE key = %s", [BAD])


@pytest.mark.parametrize(
    ("text", "latency_ms", "tokens_in", "tokens_out"),
    [
        pytest.param(b"4", 1.0, 1, 1, id="bytes for text"),
        pytest.param(None, 1.0, 1, 1, id="no text"),
        pytest.param("4", None, 1, 1, id="no latency"),
        pytest.param("4", "fast", 1, 1, id="a word for a latency"),
        pytest.param("4", float("nan"), 1, 1, id="not a number"),
        pytest.param("4", float("inf"), 1, 1, id="endless"),
        pytest.param("4", -1.0, 1, 1, id="before it began"),
        pytest.param("4", 1.0, -1, 1, id="less than no tokens"),
        pytest.param("4", 1.0, 1, 2.5, id="half a token"),
        pytest.param("4", 1.0, 1, "many", id="a word for tokens"),
    ],
)
def test_what_was_never_put_in_is_not_taken_out(text, latency_ms, tokens_in, tokens_out):
    assert stored_reply(text, latency_ms, tokens_in, tokens_out) is None


def test_a_sound_entry_comes_back_as_it_was(run):
    store_replies(run.pk, [(GOOD, Request("simulated", "m", "/", {}), Reply("", 12.5, None, 0))])
    assert find_replies([GOOD, BAD]) == {
        GOOD: Reply("", 12.5, None, 0, cached=True, flaw="no_text")  # kept by an earlier version
    }


def test_a_cached_answer_stays_marked_as_cut(run):
    cut = Reply("It is", 12.5, 3, 2, flaw="truncated")
    store_replies(run.pk, [(GOOD, Request("simulated", "m", "/", {}), cut)])
    add_cached_reply(run, BAD)  # as an earlier version stored it
    found = find_replies([GOOD, BAD])
    assert (found[GOOD].truncated, found[BAD].truncated) == (True, False)


def test_a_damaged_number_is_a_miss(run):
    add_cached_reply(run, GOOD)
    add_cached_reply(run, BAD)
    damage("latency_ms", "-5")
    assert set(find_replies([GOOD, BAD])) == {GOOD}


@pytest.mark.parametrize("change", [("text", "'5'"), ("tokens_out", "7"), ("text", "'4 '")])
def test_another_answer_than_was_stored_is_a_miss(run, change):
    request = Request("simulated", "m", "/", {})
    store_replies(run.pk, [(key, request, Reply("4", 12.5, 1, 1)) for key in (GOOD, BAD)])
    damage(*change)
    assert set(find_replies([GOOD, BAD])) == {GOOD}


def test_an_answer_under_another_key_is_a_miss(run):
    store_replies(run.pk, [(GOOD, Request("simulated", "m", "/", {}), Reply("4", 12.5, 1, 1))])
    CachedReply.objects.filter(key=GOOD).update(key=BAD)
    assert find_replies([GOOD, BAD]) == {}


def test_a_row_that_cannot_be_read_is_a_miss_for_itself_only(run):
    """SQLite fails the whole query for one text that is not UTF-8; PostgreSQL has no such texts."""
    add_cached_reply(run, GOOD)
    add_cached_reply(run, BAD)
    damage(*UNREADABLE[connection.vendor])
    assert set(find_replies([GOOD, BAD])) == {GOOD}
    assert find_replies([BAD]) == {}


def test_a_damaged_entry_is_replaced_by_the_next_answer(run):
    add_cached_reply(run, BAD)
    damage("latency_ms", "-5")
    store_replies(run.pk, [(BAD, Request("simulated", "m", "/", {}), Reply("5", 1.0))])
    assert find_replies([BAD])[BAD].text == "5"
    assert CachedReply.objects.count() == 1
