"""Starting, listing, showing, controlling and rerunning runs through the API."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils.timezone import now

from runs import models
from runs.models import Configuration, Dataset, Run, RunState
from runs.selectors.case_sources import positions_of
from runs.services.configurations import save_configuration
from tests.harness.factories import add_candidate, add_score, make_run, run_document

pytestmark = pytest.mark.django_db

# What contract.md promises; more may be added, nothing be renamed.
SHAPE = {
    "counts": {"planned", "done", "ok", "failed", "cached", "in_flight", "waiting"},
    "score": {"value", "low", "high", "n", "failed_share", "value_failures_wrong"},
    "rates": {"trials_per_second", "cache_hit_rate", "latency_p50", "latency_p95"},
    "calls": {"sent", "retried", "throttled", "saved", "by_role"},
}
FIELDS = {"id", "kind", "state", "reason", "cost", "eta_seconds", "best", "peak_in_flight"}
FIELDS |= {"started", "ended", *SHAPE}


@pytest.fixture
def document(dataset):
    return run_document(dataset)


def test_a_run_is_accepted_with_its_address(asker, stranger, alice, document):
    answer = asker.post("/runs", {"configuration": document})
    assert answer.status_code == 202
    run = Run.objects.get()
    assert answer.json() == {"id": run.pk, "state": "queued"}
    assert answer["Location"] == f"/api/v1/runs/{run.pk}"
    assert asker.get(answer["Location"].removeprefix("/api/v1")).json()["counts"]["planned"] == 3
    # A stored configuration is started by its name, by its owner.
    save_configuration(alice, "nightly", document)
    assert asker.post("/runs", {"configuration": "nightly"}).status_code == 202
    assert Run.objects.get(name="nightly").configuration == Configuration.objects.get()
    answer = stranger.post("/runs", {"configuration": "nightly"})
    assert answer.status_code == 422
    assert "There is no configuration 'nightly'" in answer.json()["detail"]


def test_every_problem_is_told_at_once_and_an_estimate_starts_nothing(asker, document):
    wrong = {**document, "models": ["nowhere/x"], "repeats": 0, "promts": []}
    answer = asker.post("/runs", {"configuration": wrong})
    assert answer.status_code == 422
    assert {problem["path"] for problem in answer.json()["problems"]} == {"repeats", "promts"}
    wrong = {**document, "models": ["nowhere/x"]}
    answer = asker.post("/runs", {"configuration": wrong})
    assert [problem["path"] for problem in answer.json()["problems"]] == ["models.0.endpoint"]
    nothing: list[Any] = [[], 5, None, {}]
    for given in nothing:
        assert asker.post("/runs", {"configuration": given}).status_code == 422
    assert not Run.objects.exists()
    found = asker.post("/runs/estimate", {"configuration": document}).json()
    assert (found["trials"], found["calls_to_send"], bool(found["limited_by"])) == (3, 3, True)
    answer = asker.post("/runs/estimate", {"configuration": {**document, "repeats": 10**9}})
    assert (answer.status_code, answer.json()["problems"][0]["path"]) == (422, "repeats")
    assert not Run.objects.exists()


def keyed(asker, body, key):
    return asker.post("/runs", body, headers={"Idempotency-Key": key})


def test_the_same_key_and_body_give_the_same_run_to_one_person(asker, stranger, alice, document):
    Dataset.objects.update(is_shared=True)
    body = {"configuration": document}
    first, again = (keyed(asker, body, "k1") for _ in range(2))
    reordered = keyed(asker, {"configuration": dict(reversed(document.items()))}, "k1")
    run = Run.objects.get()
    assert {answer.json()["id"] for answer in (first, again, reordered)} == {run.pk}
    other = keyed(asker, {"configuration": {**document, "seed": 8}}, "k1")
    assert other.status_code == 422
    assert other.json()["problems"][0]["path"] == "Idempotency-Key"
    for key in ("x" * 81, "ä", "two words"):  # which cannot be kept
        assert keyed(asker, body, key).status_code == 422
    assert Run.objects.get() == run
    assert keyed(asker, body, "k2").json()["id"] != run.pk
    assert keyed(stranger, body, "k1").json()["id"] != run.pk
    save_configuration(alice, "nightly", document)
    first = keyed(asker, {"configuration": "nightly"}, "k3")
    save_configuration(alice, "nightly", {**document, "seed": 9})  # the body is as it was
    assert keyed(asker, {"configuration": "nightly"}, "k3").json() == first.json()


def test_a_run_is_shown_as_promised_with_chosen_fields_and_its_leader_as_the_best(asker, run):
    found = asker.get(f"/runs/{run.pk}").json()
    assert found.keys() >= FIELDS
    assert {name: set(found[name]) for name in SHAPE} == SHAPE
    counts = {"planned": 3, "done": 2, "ok": 1, "failed": 1, "cached": 0}
    assert found["counts"] == {**counts, "in_flight": 0, "waiting": 1}
    assert (found["score"]["value"], found["score"]["n"]) == (1.0, 1)
    assert found["score"]["failed_share"] == 0.5
    assert found["score"]["value_failures_wrong"] == 0.5
    assert found["best"]["candidate"] == run.candidates.get().key
    texts = asker.get(f"/runs/{run.pk}/live").json()["text"]
    assert texts["errors_context"] == "50.0 %, most: timeout"
    assert "0.500 if failures count as wrong" in texts["score_context"]
    shown = asker.get(f"/runs/{run.pk}", fields="id,state").json()
    assert shown == {"id": run.pk, "state": "running"}
    (row,) = asker.get("/runs", fields="id,score").json()["data"]
    assert set(row) == {"id", "score"}
    answer = asker.get("/runs", fields="id,colour")
    assert answer.status_code == 422
    assert "Unknown: colour. Allowed here: id, name" in answer.json()["detail"]
    other = add_candidate(run, model="sim-large")
    run.candidates.filter(pk=other.pk).update(done=1, scored=1, value_sum=1.0, value_square_sum=1.0)
    add_score(run, run.dataset.cases.get(position=0), other, 2)
    leader = asker.get(f"/runs/{run.pk}/candidates").json()["data"][0]["candidate"]
    assert leader == other.key  # as good, and nothing of it failed
    assert asker.get(f"/runs/{run.pk}").json()["best"]["candidate"] == leader


@pytest.mark.usefixtures("still_clock")
def test_what_flies_and_how_long_it_takes_is_told_while_a_run_goes_on(asker, run):
    Run.objects.filter(pk=run.pk).update(started=now() - timedelta(seconds=10), planned=100)
    models.RunSample.objects.create(run=run, second=8, fresh=1, failed=1, in_flight=7)
    found = asker.get(f"/runs/{run.pk}").json()
    assert (found["counts"]["in_flight"], found["counts"]["waiting"]) == (7, 100 - 2 - 7)
    rate = found["rates"]["trials_per_second"]
    assert rate == pytest.approx(0.2)  # two trials in ten seconds
    assert found["eta_seconds"] == pytest.approx(98 / rate)
    Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED)
    found = asker.get(f"/runs/{run.pk}").json()
    assert (found["counts"]["in_flight"], found["eta_seconds"]) == (0, None)
    assert found["rates"]["trials_per_second"] is None


def test_runs_are_listed_newest_first_page_by_page(asker, stranger, staff, alice, dataset):
    made = [make_run(alice, dataset).pk for _ in range(5)]
    cursor: Any = ""
    pages = []
    while cursor is not None:
        page = asker.get("/runs", cursor=cursor, limit=2, fields="id").json()
        pages.append([row["id"] for row in page["data"]])
        cursor = page["next_cursor"]
    assert pages == [made[:2:-1], made[2:0:-1], made[:1]]
    assert stranger.get("/runs").json()["data"] == []
    assert len(staff.get("/runs").json()["data"]) == 5
    for _ in range(3):
        make_run(alice, dataset)
    cursor = asker.get("/runs", limit=1).json()["next_cursor"]
    assert asker.get("/runs", cursor=cursor, limit=2).status_code == 200
    for other in ({"state": "completed"}, {"kind": "evaluate"}):
        assert asker.get("/runs", cursor=cursor, **other).status_code == 422
    assert asker.get("/datasets", cursor=cursor).status_code == 422
    for none in ("x", "====", "WzFd", "bnVsbA==", "ä"):
        assert asker.get("/runs", cursor=none).status_code == 422


def test_runs_are_filtered_and_since_leaves_out_what_cannot_have_changed(asker, alice, dataset):
    old, live = make_run(alice, dataset), make_run(alice, dataset)
    hour_ago = now() - timedelta(hours=1)
    Run.objects.update(created=hour_ago, ended=hour_ago)
    Run.objects.filter(pk=live.pk).update(state=RunState.RUNNING, ended=None)
    as_of = asker.get("/runs").json()["as_of"]
    assert asker.get("/runs", since=as_of, fields="id").json()["data"] == [{"id": live.pk}]
    make_run(alice, dataset, name="Second try", created=hour_ago)
    chosen = ({"state": "running"}, {"name": "second"}, {"kind": "evolve"})
    assert [len(asker.get("/runs", **one).json()["data"]) for one in chosen] == [1, 1, 0]
    for wrong in ({"since": "yesterday"}, {"state": "nice"}):
        assert asker.get("/runs", **wrong).status_code == 422
    Run.objects.get(name="Second try").delete()
    Run.objects.filter(pk=old.pk).update(ended=now())
    assert len(asker.get("/runs", since=as_of).json()["data"]) == 2


@pytest.mark.usefixtures("remembered_health")
def test_the_list_asks_so_many_questions_only(asker, alice, dataset, django_assert_max_num_queries):
    for number in range(5):
        team = models.Team.objects.create(name=f"team {number}")
        make_run(alice, dataset, state=RunState.RUNNING, ended=None, team=team)
    asker.get("/runs")
    with django_assert_max_num_queries(9):
        assert len(asker.get("/runs").json()["data"]) == 5


def test_a_run_is_controlled(asker, run):
    """By whom: tests/roles/test_matrix.py."""
    path = f"/runs/{run.pk}"
    retried = asker.post(f"{path}/retry").json()
    assert retried == {"applied": True, "changed": False, "trials": 0}  # its chunk is not closed
    assert asker.post(f"{path}/trials/7/rerun").json()["changed"] is False
    models.Chunk.objects.create(run=run, start=0, trials=[], state=models.ChunkState.LEASED)
    limits = dict.fromkeys(("requests_per_minute", "tokens_per_minute"))
    limits |= {"priority": "normal", "budget": dict.fromkeys(("dollars", "calls", "seconds"))}
    answer = asker.patch(f"{path}/limits", {"max_concurrent": 4, "reason": "calm"})
    assert answer.json() == {**limits, "max_concurrent": 4}
    for name, body, changed in (
        ("pause", {"reason": "by a script", "now": True}, True),
        ("pause", None, False),
        ("resume", None, True),
        ("resume", None, False),
        ("cancel", {}, True),
        ("cancel", None, False),
    ):
        told = asker.post(f"{path}/{name}", body).json()
        assert told == {"applied": True, "changed": changed}, (name, changed)
        if body:
            paused = Run.objects.get(pk=run.pk)
            assert (paused.reason, paused.drops_calls) == ("Paused by alice: by a script", True)
    for name in ("pause", "resume", "retry", "trials/0/rerun"):
        assert asker.post(f"{path}/{name}").status_code == 409, name
    assert asker.post(f"{path}/cancel", {"hard": True}).status_code == 422
    assert not models.WebhookDelivery.objects.exists(), "nobody asked to be told"


@pytest.mark.postgresql("types: infinity in a column of numbers")
def test_answers_hold_what_json_allows_only(asker, run):
    Run.objects.filter(pk=run.pk).update(cost=float("inf"))
    text = asker.get(f"/runs/{run.pk}").content.decode()
    assert json.loads(text, parse_constant=pytest.fail)["cost"] is None


def test_trials_become_a_new_run_that_names_its_origin_or_are_run_again_in_place(asker, run):
    for status, body in [
        (409, {}),
        (409, {"trials": [77]}),
        (422, {"trials": list(range(1001))}),
        (422, {"candidate": "nobody"}),
        (422, {"status": "wrong", "cache": "off"}),
    ]:
        assert asker.post(f"/runs/{run.pk}/rerun", body).status_code == status, body
    assert Run.objects.get() == run, "nothing was started"
    answer = asker.post(f"/runs/{run.pk}/rerun", {"status": "failed"})
    assert answer.status_code == 202
    new = Run.objects.get(pk=answer.json()["id"])
    assert answer["Location"] == f"/api/v1/runs/{new.pk}"
    assert answer.json() == {"id": new.pk, "in_place": False, "trials": 1}
    assert list(positions_of(new)) == [1]
    shown = asker.get(f"/runs/{new.pk}").json()
    assert (shown["rerun_of"], shown["rerun_what"]) == (run.pk, "1 failed trial")
    trials = [[0, 0, 0, 0], [1, 0, 1, 0]]
    models.Chunk.objects.create(run=run, start=0, trials=trials, state=models.ChunkState.DONE)
    answer = asker.post(f"/runs/{run.pk}/rerun", {"trials": [0], "in_place": True})
    assert answer.json() == {"id": run.pk, "in_place": True, "trials": 1}
    assert list(run.scores.values_list("position", flat=True)) == [1]
