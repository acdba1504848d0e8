"""What a run brought, through the API; and the site's metrics, cache and benchmarks."""

import csv
import json
from datetime import timedelta
from io import StringIO
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from django.test import AsyncClient, Client
from django.utils.timezone import now
from prometheus_client.parser import text_string_to_metric_families

from runs.models import CachedReply, RunSample, Score
from runs.selectors.scores import lines
from runs.services.events import note
from tests.api.asking import Asker
from tests.harness.factories import add_cached_reply, add_candidate, add_score, beat, make_dataset
from tests.runs.benchmark_parts import make_benchmark
from tests.runs.comparing_parts import make_selection

pytestmark = pytest.mark.django_db

SCORE = {"candidate", "case", "repeat", "value", "passed", "error", "answer", "cached"}
SCORE |= {"latency_ms", "tokens_in", "tokens_out", "cost", "truncated", "attempts"}


def ask_for(asker, run, accept, what="scores", **query):
    address = f"/runs/{run.pk}/{what}?{urlencode(query)}"
    return asker.ask("get", address, headers={"Accept": accept})


def test_a_score_has_the_promised_shape_and_is_filtered(asker, run):
    right, failed = asker.get(f"/runs/{run.pk}/scores").json()["data"]
    assert right.keys() >= SCORE
    assert (right["candidate"], right["case"], right["repeat"]) == ("key0", 0, 0)
    assert (right["value"], right["passed"], right["error"]) == (1.0, True, None)
    assert (failed["value"], failed["passed"]) == (None, None)
    assert failed["error"] == {"class": "timeout", "message": "no answer"}
    assert right["attempts"] == 1

    def found(**query):
        answer = asker.get(f"/runs/{run.pk}/scores", **query)
        is_list = answer.status_code == 200
        return [row["position"] for row in answer.json()["data"]] if is_list else answer.status_code

    assert found(status="failed") == found(error="timeout") == found(case=1) == [1]
    assert found(status="correct") == found(limit=1) == [0]
    assert found(candidate="key0") == found(fields="position") == [0, 1]
    assert found(error="refused") == found(case=7) == []
    assert found(candidate="nobody") == found(error="bad") == found(status="fine") == 422


@pytest.mark.postgresql("SQL: rows are grouped and paged")
def test_repeats_come_folded_where_that_is_asked_for(asker, run):
    candidate, case = run.candidates.get(), run.dataset.cases.get(position=0)
    for repeat, value in ((1, 0.0), (2, 1.0)):
        add_score(run, case, candidate, repeat + 1, repeat=repeat, value=value, passed=value == 1)
    first, second = asker.get(f"/runs/{run.pk}/scores", folded="true").json()["data"]
    assert (first["position"], first["case"], first["tries"], first["passes"]) == (0, 0, 3, 2)
    assert (first["value"], first["failed"], first["latency_ms"]) == (pytest.approx(2 / 3), 0, 100)
    assert (second["tries"], second["failed"], second["value"]) == (1, 1, None)
    [wrong] = asker.get(f"/runs/{run.pk}/scores", folded="true", status="wrong").json()["data"]
    assert (wrong["position"], wrong["matching"], wrong["tries"]) == (2, 1, 3)
    page = asker.get(f"/runs/{run.pk}/scores", folded="true", limit=1, fields="case,tries").json()
    assert page["data"] == [{"case": 0, "tries": 3}]
    rest = asker.get(f"/runs/{run.pk}/scores", folded="true", limit=1, cursor=page["next_cursor"])
    assert [row["case"] for row in rest.json()["data"]] == [1]
    assert len(asker.get(f"/runs/{run.pk}/scores").json()["data"]) == 4


def test_an_answer_that_is_not_whole_is_marked_found_and_an_error_of_its_own(asker, run):
    run.scores.filter(position=0).update(truncated=True)
    [cut] = asker.get(f"/runs/{run.pk}/scores", status="truncated").json()["data"]
    assert (cut["position"], cut["truncated"]) == (0, True)
    assert asker.get(f"/runs/{run.pk}/trials/0").json()["truncated"] is True
    run.scores.filter(position=0).update(truncated=False)
    for flaw in ("truncated", "filtered", "no_text"):
        told = {"error_class": flaw, "answer": "half", "truncated": flaw == "truncated"}
        run.scores.filter(position=1).update(**told)
        for query in ({"status": flaw}, {"error": flaw}):
            [row] = asker.get(f"/runs/{run.pk}/scores", **query).json()["data"]
            assert (row["value"], row["error"]["class"], row["answer"]) == (None, flaw, "half")
        file = ask_for(asker, run, "text/csv", status=flaw).getvalue().decode()
        [_, line] = file.splitlines()
        assert f",{flaw}," in line


def test_scores_come_page_by_page_and_the_leaderboard_best_first(asker, run, dataset):
    Score.objects.update(finished=now() - timedelta(minutes=5))
    first = asker.get(f"/runs/{run.pk}/scores", limit=1).json()
    assert asker.get(f"/runs/{run.pk}/scores", since=first["as_of"]).json()["data"] == []
    add_score(run, dataset.cases.get(position=2), run.candidates.get(), 2)
    rest = asker.get(f"/runs/{run.pk}/scores", limit=5, cursor=first["next_cursor"]).json()
    assert [row["position"] for row in rest["data"]] == [1, 2]
    assert rest["next_cursor"] is None
    found = asker.get(f"/runs/{run.pk}/scores", since=first["as_of"]).json()["data"]
    assert [row["position"] for row in found] == [2]
    for number in range(3):
        add_candidate(run, prompt=f"p{number}")
    first = asker.get(f"/runs/{run.pk}/candidates", limit=3).json()
    rest = asker.get(f"/runs/{run.pk}/candidates", limit=3, cursor=first["next_cursor"]).json()
    rows = first["data"] + rest["data"]
    assert [row["place"] for row in rows] == [1, 2, 3, 4]
    assert [row["rank"] for row in rows] == [None] * 4  # three have answered nothing
    assert (rows[0]["candidate"], rows[0]["n"], rows[0]["failed"]) == ("key0", 1, 1)
    assert rest["next_cursor"] is None


def test_a_trial_the_chart_and_the_events_are_answered(asker, run):
    found = asker.get(f"/runs/{run.pk}/trials/0").json()
    assert found["prompt"] == [{"role": "user", "content": "What is 0 + 1?"}]
    assert found["fields"] == {"question": "What is 0 + 1?", "expected": "1"}
    attempt = {"what": "call", "outcome": "ok", "waited_ms": 1.0, "took_ms": 100.0}
    assert found["attempt_log"] == [{**attempt, "message": "", "step": ""}]
    assert found["calls"] == []
    said = {"name": "exact", "value": 1.0, "passed": True, "label": "", "reason": "is '4'"}
    # It was stored before there were labels.
    assert found["judgements"] == [{**said, "error": "", "votes": []}]
    assert asker.get(f"/runs/{run.pk}/trials/2").status_code == 404
    # Events from where one stopped, too.
    RunSample.objects.create(run=run, second=3, fresh=2, in_flight=5)
    found = asker.get(f"/runs/{run.pk}/samples").json()
    assert found["step_seconds"] == 1
    rates = {"fresh": 2.0, "cached": 0.0, "failed": 0.0}
    latencies = {"latency_p50": None, "latency_p95": None}
    assert found["data"] == [{"second": 3, **rates, "in_flight": 5, **latencies}]
    for number in range(3):
        note(run, f"event {number}")
    first = asker.get(f"/runs/{run.pk}/events", limit=2).json()
    assert [event["message"] for event in first["data"]] == ["event 0", "event 1"]
    rest = asker.get(f"/runs/{run.pk}/events", limit=2, cursor=first["next_cursor"]).json()
    assert [event["message"] for event in rest["data"]] == ["event 2"]
    assert asker.get(f"/runs/{run.pk}/events", level="error").json()["data"] == []


def test_files_have_question_expected_and_judgements_and_all_scores(asker, run, set_constant):
    """However many pages they are read in; filtered like the list."""
    answer = ask_for(asker, run, "text/csv")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    right, failed = csv.DictReader(answer.getvalue().decode().splitlines())
    assert (right["question"], right["expected"], right["answer"]) == ("What is 0 + 1?", "1", "4")
    assert (right["judgements"], right["truncated"]) == ("exact 1: is '4'", "False")
    assert (failed["value"], failed["error_class"]) == ("", "timeout")
    answer = ask_for(asker, run, "application/x-ndjson, */*;q=0.1", status="correct")
    [line] = answer.getvalue().decode().splitlines()
    found = json.loads(line)
    assert (found["position"], found["expected"]) == (0, "1")
    assert found["judgements"][0]["reason"] == "is '4'"
    set_constant(lines, "PAGE_ROWS", 2)
    candidate, case = run.candidates.get(), run.dataset.cases.get(position=2)
    for position in range(2, 5):
        add_score(run, case, candidate, position, repeat=position)
    text = ask_for(asker, run, "application/x-ndjson").getvalue().decode()
    assert [json.loads(line)["position"] for line in text.splitlines()] == [0, 1, 2, 3, 4]


def test_what_cannot_be_made_a_file_of_is_told_and_a_file_is_its_owners(asker, stranger, run):
    for accept in ("*/*", "application/json", "text/html, */*;q=0.8"):
        answer = ask_for(asker, run, accept)
        assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    for accept in ("application/xml", "text/html", "application/pdf;q=0.9"):
        answer = ask_for(asker, run, accept)
        assert (answer.status_code, answer["Content-Type"]) == (406, "application/problem+json")
        assert "text/csv" in answer.json()["detail"]
    for name, value in {"limit": 5, "cursor": "x", "fields": "position"}.items():
        answer = ask_for(asker, run, "text/csv", **{name: value})
        assert (answer.status_code, answer.json()["problems"][0]["path"]) == (422, name)
    assert ask_for(stranger, run, "text/csv").status_code == 404


@pytest.mark.postgresql("connections: rows are read on another thread's, part by part")
@pytest.mark.django_db(transaction=True)
async def test_a_server_sends_the_file_part_by_part(alice, run):
    client = AsyncClient()
    await client.aforce_login(alice)
    answer: Any = await client.get(f"/runs/{run.pk}/scores.csv")
    assert answer.is_async, "Django would read all of it before it sends the first byte"
    text = b"".join([part async for part in answer.streaming_content]).decode()
    assert len(list(csv.DictReader(text.splitlines()))) == 2


def test_a_selection_is_told_with_its_rounds_and_what_was_saved(asker, alice, run):
    selection = make_selection(alice, make_dataset(alice, "thirty", rows=30))
    found = asker.get(f"/runs/{selection.pk}/combinations").json()
    best, other = found["combinations"]
    assert best["name"] == "solver=simulated/sim-large"
    assert (best["is_best"], best["on_front"]) == (True, True)
    assert best["bounds"]["low"] < best["bounds"]["mean"] < best["bounds"]["high"]
    assert other["eliminated_in"] == len(found["rounds"])
    assert "worse than solver=simulated/sim-large" in other["why"]
    assert found["evaluations"] == selection.done < found["brute_force_evaluations"] == 60
    assert found["brute_force_dollars"] == pytest.approx(60 * 0.002)
    assert found["is_separable"]
    assert found["rounds"][-1]["alive"] == found["alive"] == 1
    file = ask_for(asker, selection, "text/csv", "combinations")
    assert file["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(StringIO(file.content.decode())))
    assert [row["is_best"] for row in rows] == ["True", "False"]
    winner = asker.get(f"/runs/{selection.pk}/litellm").json()
    as_yaml = ask_for(asker, selection, "application/yaml", "litellm")
    assert yaml.safe_load(as_yaml.content) == winner
    assert winner["model_list"][0]["litellm_params"]["api_key"].startswith("os.environ/")
    for what in ("combinations", "litellm"):  # which other kinds of runs do not have
        answer = asker.get(f"/runs/{run.pk}/{what}")
        assert answer.status_code == 409
        assert "no combinations" in answer.json()["detail"]


def read(asker):
    answer = Client().get("/metrics", headers={"Authorization": f"Bearer {asker.text}"})
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    samples = [sample for family in families for sample in family.samples]
    return {(one.name, *one.labels.values()): one.value for one in samples}


def test_the_numbers_and_the_benchmarks_are_those_of_the_database(asker, run):
    beat("w1")
    numbers = read(asker)
    told = {"runs running": 1, "runs completed": 0, "trials_total scored": 1}
    told |= {"trials_total failed": 1, "redis_up": 1, "calls_in_flight simulated sim-small": 0}
    assert {name: numbers[*f"evalsite_{name}".split()] for name in told} == told
    assert numbers["evalsite_workers",] >= 1
    benchmark = make_benchmark()
    (row,) = asker.get("/benchmarks").json()["data"]
    assert row["id"] == benchmark.pk
    assert asker.get(f"/benchmarks/{benchmark.pk}").json()["results"] == benchmark.results
    assert asker.get("/benchmarks/999").status_code == 404


def test_they_are_for_reading_tokens_also_on_an_empty_site(alice, asker):
    """For whom besides: roles/test_matrix.py."""
    assert read(asker)["evalsite_cached_replies",] == 0
    assert Client().get("/metrics", headers={"Authorization": "Bearer x"}).status_code == 401
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
