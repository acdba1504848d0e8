"""Results as files: Parquet, the HTML report, Markdown and JUnit; from page, REST and commands."""

import csv
import io
import json
import re
import tracemalloc
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from arro3.io import read_parquet
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.models import AuditEntry, Run, Score, ScoreRecord
from runs.reports import parquet
from runs.reports.cells import COLUMNS
from runs.selectors.runs.stored_history import stored_history
from runs.selectors.scores.score_records import read_record
from runs.services.chunks.score_records import store_records
from runs.services.control.rewinding import take_out
from tests.api.asking import Asker
from tests.harness.factories import add_record, add_score, client_of, make_run
from workers.engine import records
from workers.engine.json_text import to_json
from workers.engine.session import as_told

pytestmark = pytest.mark.django_db

EVIL = (
    '=1+1</pre><script src="//evil.example/x.js">alert(1)</script><img src=x onerror=y>\x00\x1b[31m'
)


@pytest.fixture
def run(alice, dataset):
    run = make_run(alice, dataset, name=f"hostile {EVIL[:60]}")
    cases, candidate = list(dataset.cases.order_by("position")), run.candidates.get()
    candidate.name = EVIL[:100]
    candidate.save()
    add_score(run, cases[0], candidate, 0, value=0.0, passed=False, answer=EVIL)
    add_score(run, cases[1], candidate, 1, value=1.0, passed=True, answer="2")
    add_score(run, cases[2], candidate, 2, error_class="rate_limited")
    return run


class Watcher(HTMLParser):
    """Notes what a browser would fetch or run."""

    def __init__(self):
        super().__init__()
        self.tags = set()
        self.addresses = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.addresses += [f"{n}={v}" for n, v in attrs if n in ("src", "href", "style", "srcset")]
        self.addresses += [n for n, _ in attrs if n.startswith("on")]


def rows_of(content):
    table = read_parquet(io.BytesIO(content)).read_all()
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def test_parquet_has_every_score_with_its_types(run):
    client = client_of(run.owner)
    answer = client.get(reverse("run_scores_parquet", args=[run.pk]))
    assert answer["Content-Type"] == "application/vnd.apache.parquet"
    content = answer.getvalue()
    assert answer["Content-Length"] == str(len(content))
    rows = rows_of(content)
    found = [(row["position"], row["value"], row["passed"]) for row in rows]
    assert found == [(0, 0.0, False), (1, 1.0, True), (2, None, None)]
    assert rows[0]["answer"] == EVIL  # no apostrophe: nothing runs it
    assert rows[2]["error_class"] == "rate_limited"
    wrong = client.get(reverse("run_scores_parquet", args=[run.pk]), {"status": "wrong"})
    assert [row["position"] for row in rows_of(wrong.getvalue())] == [0]
    headers = {"Accept": "application/vnd.apache.parquet"}
    sent = Asker(run.owner).ask("get", f"/runs/{run.pk}/scores", headers=headers)
    assert rows_of(sent.getvalue()) == rows


def test_parquet_is_written_a_batch_at_a_time(tmp_path, set_constant):
    set_constant(parquet, "BATCH_ROWS", 100)
    line: dict[str, Any] = {"error": None, "judgements": [], "value": 1.0, "answer": "\ud800 half"}
    blank = dict.fromkeys(column for column in COLUMNS if not column.startswith("error_"))
    path = tmp_path / "scores.parquet"
    tracemalloc.start()
    with path.open("wb") as file:
        lines = ({**blank, **line, "position": n, "question": "x" * 10_000} for n in range(2000))
        parquet.write_parquet(file, lines)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 7_500_000  # of 20 MB
    assert len(rows_of(path.read_bytes())) == 2000


def test_markdown_and_junit_come_from_every_door_and_the_report_fetches_nothing(run):
    client, asker = client_of(run.owner), Asker(run.owner)
    markdown = client.get(reverse("run_file", args=[run.pk, "report.md"])).text
    assert markdown.startswith("### ")
    assert "<script" not in re.sub(r"`[^`]*`", "", markdown)
    junit = client.get(reverse("run_file", args=[run.pk, "junit.xml"])).content
    assert ElementTree.fromstring(junit).tag == "testsuites"
    for kind, text in (("text/markdown", markdown), ("application/xml", junit.decode())):
        sent = asker.ask("get", f"/runs/{run.pk}/report", headers={"Accept": kind})
        assert sent["Content-Type"].startswith(kind)
        assert sent.text[:40] == text[:40]
    as_html = asker.ask("get", f"/runs/{run.pk}/report", headers={"Accept": "text/html"})
    assert as_html.content.startswith(b"<!doctype html>")
    record = asker.get(f"/runs/{run.pk}/report").json()
    assert (record["run_id"], record["counts"]["done"]) == (run.pk, run.done)
    assert AuditEntry.objects.filter(action="exported").count() == 5
    page = client.get(reverse("run", args=[run.pk])).text
    scores = [f"scores.{suffix}" for suffix in ("csv", "jsonl", "parquet")]
    for name in (*scores, "report.html", "report.md", "junit.xml"):
        assert f"/runs/{run.pk}/{name}" in page
    answer = client_of(run.owner).get(reverse("run_file", args=[run.pk, "report.html"]))
    assert answer["Content-Disposition"].startswith("attachment")
    text = answer.text
    seen = Watcher()
    seen.feed(text)
    assert seen.addresses == []
    assert not seen.tags & {"script", "link", "img", "iframe", "object", "form", "a", "base"}
    assert not re.search(r"url\(|@import", text)
    assert ("\x1b" in text, "light-dark(" in text) == (False, True)
    told = ("Leaderboard", "Cases answered worst", "rate_limited", "What is 0 + 1?", "scorers:")
    for part in told:
        assert part in text, part
    assert "&lt;script src=" in text
    assert len(text) < 150_000


def test_the_command_writes_what_the_ending_says(run, tmp_path):
    def export(name, number=run.pk, **options):
        path = tmp_path / name
        call_command("export_run", number, out=path, user="alice", stdout=io.StringIO(), **options)
        return path.read_bytes()

    begin = {"csv": b"", "parquet": b"PAR1", "html": b"<!doctype", "md": b"###", "xml": b"<?xml"}
    for suffix, start in begin.items():
        assert export(f"out.{suffix}").startswith(start), suffix
    lines = export("out.jsonl").splitlines()
    assert [json.loads(line)["position"] for line in lines] == [0, 1, 2]
    with pytest.raises(CommandError, match=r"ends in \.jsonl or \.csv or \.parquet or \.html"):
        export("out.pdf")
    with pytest.raises(CommandError, match="--records goes with scores"):
        export("a.html", records=True)
    with pytest.raises(CommandError, match="There is no run"):
        export("a.csv", run.pk + 1)


# --- Records of trials: written with the scores, read on demand, gone with them

EPISODE = {"steps": [{"action": 1, "said": "<script>alert(1)</script>"}]}


@pytest.fixture
def recorded(alice, dataset, toy):
    """Two trials; the first has a record."""
    recorded = make_run(alice, dataset, kind="toy", done=2, scored=2)
    for case in dataset.cases.all()[:2]:
        add_score(recorded, case, recorded.candidates.get(), case.position)
    add_record(recorded.scores.get(position=0), EPISODE)
    return recorded


def fresh(position, record=None):
    return records.Score(records.Trial(position, "key0", position, 0), value=1.0, record=record)


@pytest.mark.postgresql("types: packed bytes")
def test_records_are_stored_behind_scores_and_a_replay_tells_them_to_who_hears_them(recorded):
    """The history of others leaves records alone."""
    hears = frozenset({records.RECORD})
    told = stored_history(recorded, hears=hears)
    assert [score.record for score in told] == [to_json(EPISODE), None]
    assert [score.record for score in stored_history(recorded, 1, hears)] == [None]
    again = [replace(score, answer="4", cached=True) for score in told]
    assert [as_told(score, hears) for score in again] == told
    with CaptureQueriesContext(connection) as asked:
        told = stored_history(recorded, hears=frozenset({records.ANSWER}))
    assert {score.record for score in told} == {None}
    assert not [query for query in asked.captured_queries if "scorerecord" in query["sql"]]
    assert as_told(replace(told[0], record=b"{}"), frozenset({records.ANSWER})).record is None
    store_records(recorded, [fresh(0), fresh(1, b'{"a": 1}')])
    stored = ScoreRecord.objects.get(score__position=1)
    assert (stored.run_id, stored.size) == (recorded.pk, 8)
    assert read_record(recorded, 1) == b'{"a": 1}'
    with CaptureQueriesContext(connection) as asked:
        store_records(recorded, [fresh(0), fresh(1)])
    assert not asked.captured_queries, "scores without records ask the database nothing"


@pytest.mark.postgresql("constraints: checked when the transaction ends")
@pytest.mark.django_db(transaction=True)
def test_a_record_goes_with_a_score_taken_back_or_its_run_and_is_not_forgotten(recorded):
    with pytest.raises(IntegrityError), transaction.atomic():
        recorded.scores.all().delete()
    assert recorded.scores.count() == 2
    recorded.candidates.update(done=2, scored=2, value_sum=2.0, value_square_sum=2.0)
    with transaction.atomic():
        take_out(recorded, list(recorded.scores.all()))
        assert (Score.objects.count(), ScoreRecord.objects.count()) == (0, 0)
        transaction.set_rollback(True)
    recorded.delete()
    assert (Run.objects.count(), Score.objects.count(), ScoreRecord.objects.count()) == (0, 0, 0)


def test_pages_and_api_load_records_only_when_asked_and_exports_likewise(alice, recorded):
    client = client_of(alice)
    page = client.get(reverse("trial", args=[recorded.pk, 0])).text
    assert f'href="{reverse("trial_record", args=[recorded.pk, 0])}" data-record' in page
    assert "alert(1)" not in page
    assert "data-record" not in client.get(reverse("trial", args=[recorded.pk, 1])).text
    answer = client.get(reverse("trial_record", args=[recorded.pk, 0]))
    assert answer["Content-Type"] == "application/json"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert json.loads(answer.content) == EPISODE
    assert client.get(reverse("trial_record", args=[recorded.pk, 1])).status_code == 404
    asker = Asker(alice)
    answer = asker.get(f"/runs/{recorded.pk}/scores/0/record")
    assert (answer["Content-Type"], answer.json()) == ("application/json", EPISODE)
    assert asker.get(f"/runs/{recorded.pk}/scores/1/record").status_code == 404
    sizes = [asker.get(f"/runs/{recorded.pk}/trials/{n}").json()["record_bytes"] for n in (0, 1)]
    assert sizes == [len(json.dumps(EPISODE, separators=(",", ":"))), None]
    with CaptureQueriesContext(connection) as asked:
        page = client_of(alice).get(reverse("run_scores", args=[recorded.pk])).text
        assert Asker(alice).get(f"/runs/{recorded.pk}/scores").status_code == 200
    assert not [query for query in asked.captured_queries if "scorerecord" in query["sql"]]
    assert "JSON lines with records" in page
    client, address = client_of(alice), reverse("run_scores_jsonl", args=[recorded.pk])
    plain = [json.loads(line) for line in client.get(address).getvalue().splitlines()]
    assert not any("record" in line for line in plain)
    full = client.get(address, {"records": 1}).getvalue().splitlines()
    assert [json.loads(line)["record"] for line in full] == [EPISODE, None]
    asker, address = Asker(alice), f"/runs/{recorded.pk}/scores?records=true"
    file = asker.ask("get", address, headers={"Accept": "text/csv"})
    first, second = csv.DictReader(file.getvalue().decode().splitlines())
    assert (json.loads(first["record"]), second["record"]) == (EPISODE, "")
    assert asker.get(f"/runs/{recorded.pk}/scores", records="true").status_code == 422
