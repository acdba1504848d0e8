"""Whose answer a cached one is: no deployment, key or site gets that of another."""

import re
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from django.db import connection, transaction
from django.utils.timezone import now

from runs import secrets
from runs.access import cached_replies_for
from runs.models import CachedReply, Endpoint, EndpointKind
from runs.selectors.cache import find_replies
from runs.selectors.cache_page import (
    CacheFilters,
    Pruning,
    count_matching,
    group_by_model,
    list_entries,
    place_of,
)
from runs.selectors.endpoints.service import service_of
from runs.selectors.estimates.calls import keys_of
from runs.services.cache import prune_cache
from runs.services.chunks.recording import store_replies
from tests.harness.factories import add_cached_reply, make_run
from workers.engine.calling.cache import MemoryCache, stored_reply
from workers.engine.here import run_here
from workers.engine.http import Client
from workers.engine.kinds import read_configuration
from workers.engine.records import Case, Reply, Request
from workers.wiring import build_provider

pytestmark = pytest.mark.django_db

KEY_A, KEY_B = "sk-canary-aaaaaaaaaaaaaaaa", "sk-canary-bbbbbbbbbbbbbbbb"
CASES = [Case(0, {"question": "Who are you?", "expected": "it"})]
DOCUMENT: dict[str, Any] = {
    "name": "who",
    "kind": "evaluate",
    "dataset": "who",
    "prompts": [{"name": "plain"}],
    "models": ["it/model"],
    "scorers": ["exact"],
}
JUDGED = {**DOCUMENT, "scorers": [{"rubric": {"judge": "it/judge", "rubric": "It is polite."}}]}
EMBEDDED = {**DOCUMENT, "scorers": [{"similarity": {"model": "it/vectors"}}]}


class Host:
    """One host with many deployments: each answers with its own path and the end of the key."""

    def __init__(self):
        self.calls = 0

    async def answer(self, request):
        self.calls += 1
        who = f"{request.path} for {request.headers.get('Authorization', 'nobody')[-4:]}"
        body = await request.json()
        if request.path.endswith("/embeddings"):
            rows = [{"index": n, "embedding": [1.0, n]} for n, _ in enumerate(body["input"])]
            return web.json_response({"data": rows})
        text = '{"score": 1, "reason": "It is."}' if body["model"] == "judge" else who
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice]})


@pytest.fixture
def host():
    return Host()


@pytest.fixture
async def address(host, settings, tmp_path):
    application = web.Application()
    application.router.add_post("/{path:.*}", host.answer)
    server = TestServer(application)
    await server.start_server()
    settings.EVALSITE_DATA = tmp_path
    settings.ALLOWED_PRIVATE_ENDPOINTS = (f"127.0.0.1:{server.port}",)
    yield f"http://127.0.0.1:{server.port}"
    await server.close()


def endpoint_at(base_url, key="", kind=EndpointKind.OPENAI):
    ciphertext = secrets.encrypt(key) if key else ""
    return Endpoint(name="it", kind=kind, base_url=base_url, key_ciphertext=ciphertext)


async def ask(endpoint, cache, document=DOCUMENT):
    async with Client() as client:
        providers = {"it": build_provider(endpoint, client)}
        (score,) = await run_here(read_configuration(document), CASES, providers, cache=cache)
    return score


async def test_another_deployment_of_the_host_gives_its_own_answers(host, address):
    cache = MemoryCache()
    first = await ask(endpoint_at(f"{address}/deploymentA", KEY_A), cache)
    second = await ask(endpoint_at(f"{address}/deploymentB", KEY_B), cache)
    assert first.answer == "/deploymentA/chat/completions for aaaa"
    assert second.answer == "/deploymentB/chat/completions for bbbb"
    assert (first.cached, second.cached, host.calls) == (False, False, 2)


IS_SAME = {
    ("/a", KEY_A, EndpointKind.OPENAI): True,  # encrypted anew
    ("/a/", KEY_A, EndpointKind.OPENAI): True,  # with a slash at the end
    ("/a", KEY_B, EndpointKind.OPENAI): False,
    ("/a", "", EndpointKind.OPENAI): False,
    ("/b", KEY_A, EndpointKind.OPENAI): False,
    ("/a/b", KEY_A, EndpointKind.OPENAI): False,
    ("/a", KEY_A, EndpointKind.SIMULATED): False,
}


async def test_what_differs_is_asked_again(host, address):
    found = {}
    for path, key, kind in IS_SAME:
        host.calls, cache = 0, MemoryCache()
        await ask(endpoint_at(f"{address}/a", KEY_A), cache)
        again = await ask(endpoint_at(f"{address}{path}", key, kind), cache)
        found[path, key, kind] = again.cached
        assert host.calls == (1 if again.cached else 2)
    assert found == IS_SAME


async def test_what_a_scorer_asks_is_kept_apart_too(host, address):
    for document in (JUDGED, EMBEDDED):
        cache = MemoryCache()
        for key in (KEY_A, KEY_B):
            before = host.calls
            score = await ask(endpoint_at(f"{address}/a", key), cache, document)
            assert score.error == ""
            assert host.calls == before + 2  # the answer, and what its scorer asked
        before = host.calls
        await ask(endpoint_at(f"{address}/a", KEY_A), cache, document)
        assert host.calls == before


async def test_an_estimate_looks_under_the_keys_that_a_run_stores(address):
    cache, endpoint = MemoryCache(), endpoint_at(f"{address}/a/", KEY_A)
    await ask(endpoint, cache)
    found = keys_of(read_configuration(DOCUMENT), CASES, {"it": endpoint})
    assert [key for key, _ in found] == list(cache.replies)


def test_nobody_can_try_out_keys_against_what_tells_them_apart(settings, tmp_path):
    settings.EVALSITE_DATA = tmp_path
    endpoint = endpoint_at("https://provider.example/v1", KEY_A)
    settings.SECRET_KEY = "one site's key, which nobody else knows"
    here = service_of(endpoint)
    settings.SECRET_KEY = "another site's key, which nobody else knows"
    assert service_of(endpoint) != here
    assert KEY_A not in here
    own = endpoint_at("", kind=EndpointKind.SIMULATED)
    settings.SIMULATOR_URL = "http://127.0.0.1:1111"
    before = service_of(own)
    settings.SIMULATOR_URL = "http://127.0.0.1:2222"
    assert service_of(own) == before
    named = endpoint_at("https://provider.example/v1", kind=EndpointKind.SIMULATED)
    assert service_of(named) != before  # whatever its kind says, it is somebody else's server


# --- The table of cached answers: an index serves every question, and damage is a miss

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
def test_a_page_and_a_removal_read_no_more_than_what_they_show_or_fits(ada, answers):
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


def test_what_was_never_put_in_is_not_taken_out_and_damage_is_replaced_by_the_next_answer(run):
    assert [row for row in NEVER_STORED if stored_reply(*row) is not None] == []
    add_cached_reply(run, BAD)
    damage("latency_ms", "-5")
    assert find_replies([BAD]) == {}
    store(run, Reply("5", 1.0), BAD)
    assert find_replies([BAD])[BAD].text == "5"
    assert CachedReply.objects.count() == 1


def store(run, reply, *keys):
    request = Request("simulated", "m", "/", {})
    store_replies(run.pk, [(key, request, reply) for key in keys])


def test_a_sound_entry_comes_back_as_it_was_and_what_was_changed_or_has_another_key_is_a_miss(run):
    store(run, Reply("", 12.5, None, 0), GOOD)
    assert find_replies([GOOD, BAD]) == {
        GOOD: Reply("", 12.5, None, 0, cached=True, flaw="no_text")  # kept by an earlier version
    }
    cut = "c" * 64
    store(run, Reply("It is", 12.5, 3, 2, flaw="truncated"), cut)
    add_cached_reply(run, BAD)  # as an earlier version stored it
    found = find_replies([cut, BAD])
    assert (found[cut].truncated, found[BAD].truncated) == (True, False)
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
