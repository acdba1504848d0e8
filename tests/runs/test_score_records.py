"""Records of trials: written with the scores, read on demand, gone with them."""

import csv
import json
from dataclasses import replace

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.kinds import SITE_KINDS
from runs.models import Run, Score, ScoreRecord
from runs.selectors.runs.stored_history import stored_history
from runs.selectors.scores.score_records import read_record
from runs.services.chunks.score_records import store_records
from runs.services.control.rewinding import take_out
from tests.api.asking import Asker
from tests.harness.factories import add_record, add_score, client_of, make_run
from tests.toy_kind import SITE, Toy
from workers.engine import records
from workers.engine.json_text import to_json
from workers.engine.kinds import KINDS
from workers.engine.session import as_told

pytestmark = pytest.mark.django_db

EPISODE = {"steps": [{"action": 1, "said": "<script>alert(1)</script>"}]}


@pytest.fixture
def run(alice, dataset, monkeypatch):
    """Two trials; the first has a record."""
    monkeypatch.setitem(KINDS, "toy", Toy)
    monkeypatch.setitem(SITE_KINDS, "toy", SITE)
    run = make_run(alice, dataset, kind="toy", done=2, scored=2)
    for case in dataset.cases.all()[:2]:
        add_score(run, case, run.candidates.get(), case.position)
    add_record(run.scores.get(position=0), EPISODE)
    return run


def fresh(position, record=None):
    trial = records.Trial(position, "key0", position, 0)
    return records.Score(trial, value=1.0, record=record)


@pytest.mark.postgresql("types: packed bytes")
def test_records_are_stored_behind_their_scores(run):
    store_records(run, [fresh(0), fresh(1, b'{"a": 1}')])
    stored = ScoreRecord.objects.get(score__position=1)
    assert (stored.run_id, stored.size) == (run.pk, 8)
    assert read_record(run, 1) == b'{"a": 1}'
    with CaptureQueriesContext(connection) as asked:
        store_records(run, [fresh(0), fresh(1)])
    assert not asked.captured_queries, "scores without records ask the database nothing"


def test_a_strategy_that_hears_records_is_told_them_by_a_replay_as_by_a_worker(run):
    """The history of others leaves records alone."""
    hears = frozenset({records.RECORD})
    told = stored_history(run, hears=hears)
    assert [score.record for score in told] == [to_json(EPISODE), None]
    assert [score.record for score in stored_history(run, 1, hears)] == [None]
    fresh = [replace(score, answer="4", cached=True) for score in told]
    assert [as_told(score, hears) for score in fresh] == told
    with CaptureQueriesContext(connection) as asked:
        told = stored_history(run, hears=frozenset({records.ANSWER}))
    assert {score.record for score in told} == {None}
    assert not [query for query in asked.captured_queries if "scorerecord" in query["sql"]]
    one = replace(told[0], record=b"{}")
    assert as_told(one, frozenset({records.ANSWER})).record is None


def test_a_score_that_is_taken_back_and_a_run_that_is_deleted_take_records_along(run):
    run.candidates.update(done=2, scored=2, value_sum=2.0, value_square_sum=2.0)
    with transaction.atomic():
        take_out(run, list(run.scores.all()))
        assert (Score.objects.count(), ScoreRecord.objects.count()) == (0, 0)
        transaction.set_rollback(True)
    run.delete()
    assert (Run.objects.count(), Score.objects.count(), ScoreRecord.objects.count()) == (0, 0, 0)


@pytest.mark.postgresql("constraints: checked when the transaction ends")
@pytest.mark.django_db(transaction=True)
def test_a_score_whose_record_was_forgotten_is_not_deleted(run):
    with pytest.raises(IntegrityError), transaction.atomic():
        run.scores.all().delete()
    assert run.scores.count() == 2


def test_page_and_api_offer_the_record_as_json_and_load_it_only_when_asked(alice, run):
    client = client_of(alice)
    page = client.get(reverse("trial", args=[run.pk, 0])).text
    assert f'href="{reverse("trial_record", args=[run.pk, 0])}" data-record' in page
    assert "alert(1)" not in page
    assert "data-record" not in client.get(reverse("trial", args=[run.pk, 1])).text
    answer = client.get(reverse("trial_record", args=[run.pk, 0]))
    assert answer["Content-Type"] == "application/json"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert json.loads(answer.content) == EPISODE
    assert client.get(reverse("trial_record", args=[run.pk, 1])).status_code == 404
    asker = Asker(alice)
    answer = asker.get(f"/runs/{run.pk}/scores/0/record")
    assert (answer["Content-Type"], answer.json()) == ("application/json", EPISODE)
    assert asker.get(f"/runs/{run.pk}/scores/1/record").status_code == 404
    sizes = [asker.get(f"/runs/{run.pk}/trials/{n}").json()["record_bytes"] for n in (0, 1)]
    assert sizes == [len(json.dumps(EPISODE, separators=(",", ":"))), None]


def test_lists_never_read_records_and_exports_only_where_they_are_asked_for(alice, run):
    with CaptureQueriesContext(connection) as asked:
        page = client_of(alice).get(reverse("run_scores", args=[run.pk])).text
        assert Asker(alice).get(f"/runs/{run.pk}/scores").status_code == 200
    assert not [query for query in asked.captured_queries if "scorerecord" in query["sql"]]
    assert "JSON lines with records" in page
    client, address = client_of(alice), reverse("run_scores_jsonl", args=[run.pk])
    plain = [json.loads(line) for line in client.get(address).getvalue().splitlines()]
    assert not any("record" in line for line in plain)
    full = client.get(address, {"records": 1}).getvalue().splitlines()
    assert [json.loads(line)["record"] for line in full] == [EPISODE, None]
    asker, address = Asker(alice), f"/runs/{run.pk}/scores?records=true"
    file = asker.ask("get", address, headers={"Accept": "text/csv"})
    first, second = csv.DictReader(file.getvalue().decode().splitlines())
    assert (json.loads(first["record"]), second["record"]) == (EPISODE, "")
    assert asker.get(f"/runs/{run.pk}/scores", records="true").status_code == 422
