"""The table of cached answers: an index serves every question, and damage is a miss."""

import re
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection, transaction
from django.utils.timezone import now

from runs.access import cached_replies_for
from runs.models import CachedReply
from runs.selectors.cache import find_replies
from runs.selectors.cache_page import (
    CacheFilters,
    Pruning,
    count_matching,
    group_by_model,
    list_entries,
    place_of,
)
from runs.services.cache import prune_cache
from runs.services.chunks.recording import store_replies
from tests.harness.factories import add_cached_reply, make_run
from workers.engine.calling.cache import stored_reply
from workers.engine.records import Reply, Request

pytestmark = pytest.mark.django_db

# How each database says that it reads rows one after the other, and how it is asked.
WHOLE_TABLE = {
    "sqlite": r"SCAN runs_cachedreply(?! USING (COVERING )?INDEX)",
    "postgresql": r"Seq Scan on runs_cachedreply",
}
EXPLAIN = {"sqlite": "EXPLAIN QUERY PLAN ", "postgresql": "EXPLAIN "}
SORTS_ALL = r"TEMP B-TREE FOR ORDER BY"  # SQLite; of the right part only, it sorts equal moments
MODEL = ("simulated", "sim-small")
GOOD, BAD = "a" * 64, "b" * 64
UNREADABLE = {"sqlite": ("text", "CAST(x'ff41' AS TEXT)"), "postgresql": ("latency_ms", "'NaN'")}


@pytest.fixture
def run(alice, dataset):
    return make_run(alice, dataset)


@pytest.fixture
def answers(run):
    for place in range(60):
        add_cached_reply(run, f"{place:064x}", created=now() - timedelta(hours=place))


def plans_of(ask):
    """What the database does for the questions, asked as they are: with parameters, which a
    planner does not look into."""
    asked = []

    def listen(execute, sql, params, many, context):
        if "runs_cachedreply" in sql and sql.startswith(("SELECT", "DELETE")):
            asked.append((EXPLAIN[connection.vendor] + sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(listen):
        ask()
    plans = []
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # so few rows are read faster without an index
            cursor.execute("SET LOCAL enable_seqscan = off")
        for question in asked:
            cursor.execute(*question)
            plans += [str(row[-1]) for row in cursor.fetchall()]
    assert plans
    return "\n".join(plans)


def reads_all(plans):
    return re.search(WHOLE_TABLE[connection.vendor], plans)


@pytest.mark.postgresql("SQL: each planner chooses its own index")
def test_a_page_reads_no_more_than_it_shows(ada, answers):
    seen = cached_replies_for(ada)
    later = place_of(list(seen.order_by("-created", "-key"))[30])
    for filters in (
        CacheFilters(),
        CacheFilters("", *MODEL),
        CacheFilters("answer", *MODEL),
        CacheFilters("answer"),
    ):
        for start in ("", later):
            plans = plans_of(partial(list_entries, seen, filters, start))
            assert not reads_all(plans), plans
            assert not re.search(SORTS_ALL, plans), plans


@pytest.mark.postgresql("SQL: each planner chooses its own index")
def test_a_removal_finds_what_fits_and_groups_are_counted_by_an_index(answers):
    plans = plans_of(group_by_model)
    assert not reads_all(plans), plans
    chosen = [Pruning(before=now()), Pruning(None, *MODEL), Pruning(now(), *MODEL)]
    for selection in (*chosen, Pruning(run_id=1)):
        with transaction.atomic():
            plans = plans_of(lambda one=selection: [count_matching(one), prune_cache(one)])
            transaction.set_rollback(True)
        assert not reads_all(plans), plans


# --- Reading: an entry that was damaged is a miss, and no trouble for the others


def damage(column, value):
    """As a disk or a careless hand would: past everything that checks."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE runs_cachedreply SET {column} = {value} WHERE key = %s", [BAD])


NEVER_STORED = [
    (b"4", 1.0, 1, 1),
    (None, 1.0, 1, 1),
    ("4", None, 1, 1),
    ("4", "fast", 1, 1),
    ("4", float("nan"), 1, 1),
    ("4", float("inf"), 1, 1),
    ("4", -1.0, 1, 1),
    ("4", 1.0, -1, 1),
    ("4", 1.0, 1, 2.5),
    ("4", 1.0, 1, "many"),
]


def test_what_was_never_put_in_is_not_taken_out():
    assert [row for row in NEVER_STORED if stored_reply(*row) is not None] == []


def store(run, reply, *keys):
    request = Request("simulated", "m", "/", {})
    store_replies(run.pk, [(key, request, reply) for key in keys])


def test_a_sound_entry_comes_back_as_it_was_and_stays_marked_as_cut(run):
    store(run, Reply("", 12.5, None, 0), GOOD)
    assert find_replies([GOOD, BAD]) == {
        GOOD: Reply("", 12.5, None, 0, cached=True, flaw="no_text")  # kept by an earlier version
    }
    cut = "c" * 64
    store(run, Reply("It is", 12.5, 3, 2, flaw="truncated"), cut)
    add_cached_reply(run, BAD)  # as an earlier version stored it
    found = find_replies([cut, BAD])
    assert (found[cut].truncated, found[BAD].truncated) == (True, False)


def test_another_answer_than_was_stored_and_one_under_another_key_are_misses(run):
    for change in (("latency_ms", "-5"), ("text", "'5'"), ("tokens_out", "7"), ("text", "'4 '")):
        CachedReply.objects.all().delete()
        store(run, Reply("4", 12.5, 1, 1), GOOD, BAD)
        damage(*change)
        assert set(find_replies([GOOD, BAD])) == {GOOD}, change
    CachedReply.objects.filter(key=BAD).delete()
    CachedReply.objects.filter(key=GOOD).update(key=BAD)
    assert find_replies([GOOD, BAD]) == {}


@pytest.mark.postgresql("types: each database stores other unreadable values")
@pytest.mark.django_db(transaction=True)
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
    assert find_replies([BAD]) == {}
    store(run, Reply("5", 1.0), BAD)
    assert find_replies([BAD])[BAD].text == "5"
    assert CachedReply.objects.count() == 1
