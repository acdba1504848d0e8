"""What the site tells of itself: its metrics, its cache and its benchmarks."""

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from runs.models import CachedReply
from tests.api.asking import Asker
from tests.harness.factories import add_cached_reply, beat, client_of
from tests.runs.benchmark_parts import make_benchmark

pytestmark = pytest.mark.django_db


def read(asker):
    answer = Client().get("/metrics", headers={"Authorization": f"Bearer {asker.text}"})
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def test_the_numbers_and_the_benchmarks_are_those_of_the_database(asker, run):
    beat("w1")
    numbers = read(asker)
    assert numbers["evalsite_runs", "running"] == 1
    assert numbers["evalsite_runs", "completed"] == 0
    assert numbers["evalsite_trials_total", "scored"] == 1
    assert numbers["evalsite_trials_total", "failed"] == 1
    assert numbers["evalsite_redis_up",] == 1
    assert numbers["evalsite_workers",] >= 1
    assert numbers["evalsite_calls_in_flight", "simulated", "sim-small"] == 0
    benchmark = make_benchmark()
    (row,) = asker.get("/benchmarks").json()["data"]
    assert row["id"] == benchmark.pk
    assert asker.get(f"/benchmarks/{benchmark.pk}").json()["results"] == benchmark.results
    assert asker.get("/benchmarks/999").status_code == 404


def test_they_are_for_reading_tokens_and_for_staff_also_on_an_empty_site(alice, ada, asker):
    assert read(asker)["evalsite_cached_replies",] == 0
    assert Client().get("/metrics").status_code == 401
    assert Client().get("/metrics", headers={"Authorization": "Bearer x"}).status_code == 401
    assert client_of(alice).get("/metrics").status_code == 401
    assert client_of(ada).get("/metrics").status_code == 200
    other = {"Authorization": f"Bearer {Asker(alice, 'run').text}"}
    assert Client().get("/metrics", headers=other).status_code == 403


def test_the_cache_is_shown_pruned_and_restored_unless_gone_for_good(asker, staff, stranger, run):
    for number in range(30):
        add_cached_reply(run, f"{number:064x}")
    assert asker.get("/cache").json()["entries"] == 30
    first = asker.get("/cache/entries").json()
    assert (len(first["data"]), first["data"][0]["run"]) == (25, run.pk)
    rest = asker.get("/cache/entries", cursor=first["next_cursor"]).json()
    assert (len(rest["data"]), rest["next_cursor"]) == (5, None)
    assert stranger.get("/cache/entries").json()["data"] == []
    counted = staff.post("/cache/prune", {"run": run.pk, "dry_run": True}).json()
    assert (counted["applied"], counted["left"]) == (False, 30)
    assert staff.post("/cache/prune", {}).status_code == 422
    pruned = staff.post("/cache/prune", {"model": "simulated/sim-small"}).json()
    assert (pruned["removed"], pruned["left"]) == (30, 0)
    assert not CachedReply.objects.exists()
    until = {"remove_after": pruned["remove_after"]}
    assert staff.get("/cache/removals").json()["data"] == [{**until, "answers": 30}]
    for restored in (30, 0):
        assert staff.post("/cache/restore", until).json()["restored"] == restored
    assert {reply.run for reply in CachedReply.objects.all()} == {run}
    gone = staff.post("/cache/prune", {"run": run.pk, "for_good": True}).json()
    assert (gone["removed"], gone["remove_after"]) == (30, None)
    assert staff.get("/cache/removals").json()["data"] == []
