"""A million answers stay quick: every question about the cache is served by an index."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.utils.timezone import now

from runs.access import cached_replies_for
from runs.selectors.cache_page import (
    CacheFilters,
    Pruning,
    count_matching,
    group_by_model,
    list_entries,
    place_of,
)
from runs.services.cache import prune_cache
from tests.harness.factories import add_cached_reply, make_dataset, make_person, make_run

pytestmark = pytest.mark.django_db

# How each database says that it reads rows one after the other, and how it is asked.
WHOLE_TABLE = {
    "sqlite": r"SCAN runs_cachedreply(?! USING (COVERING )?INDEX)",
    "postgresql": r"Seq Scan on runs_cachedreply",
}
EXPLAIN = {"sqlite": "EXPLAIN QUERY PLAN ", "postgresql": "EXPLAIN "}
SORTS_ALL = r"TEMP B-TREE FOR ORDER BY"  # SQLite; of the right part only, it sorts equal moments
MODEL = ("simulated", "sim-small")


@pytest.fixture
def run():
    owner = make_person("alice")
    run = make_run(owner, make_dataset(owner))
    for place in range(60):
        add_cached_reply(run, f"{place:064x}", created=now() - timedelta(hours=place))
    return run


def plans_of(ask) -> str:
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


@pytest.mark.parametrize(
    "filters",
    [
        pytest.param(CacheFilters(), id="all"),
        pytest.param(CacheFilters("", *MODEL), id="of a model"),
        pytest.param(CacheFilters("answer", *MODEL), id="search in a model"),
        pytest.param(CacheFilters("answer"), id="search"),
    ],
)
@pytest.mark.parametrize("is_later", [False, True], ids=["first page", "later page"])
def test_a_page_reads_no_more_than_it_shows(run, filters, is_later):
    staff = make_person("ada", staff=True)
    start = place_of(run_entries(staff)[30]) if is_later else ""
    plans = plans_of(lambda: list_entries(cached_replies_for(staff), filters, start))
    assert not re.search(WHOLE_TABLE[connection.vendor], plans), plans
    assert not re.search(SORTS_ALL, plans), plans


def run_entries(staff):
    return list(cached_replies_for(staff).order_by("-created", "-key"))


@pytest.mark.parametrize(
    "selection",
    [
        pytest.param(Pruning(before=now()), id="age"),
        pytest.param(Pruning(None, *MODEL), id="model"),
        pytest.param(Pruning(now(), *MODEL), id="model and age"),
        pytest.param(Pruning(run_id=1), id="run"),
    ],
)
def test_a_removal_finds_what_fits_by_an_index(run, selection):
    plans = plans_of(lambda: [count_matching(selection), prune_cache(selection)])
    assert not re.search(WHOLE_TABLE[connection.vendor], plans), plans


def test_the_groups_are_counted_without_reading_an_answer(run):
    plans = plans_of(group_by_model)
    assert not re.search(WHOLE_TABLE[connection.vendor], plans), plans
