"""Results as files: Parquet, the HTML report, Markdown and JUnit; from page, REST and commands."""

import io
import json
import re
import tracemalloc
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from arro3.io import read_parquet
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from runs.models import AuditEntry
from runs.reports import parquet
from runs.reports.cells import COLUMNS
from tests.api.asking import Asker
from tests.harness.factories import add_score, client_of, make_run

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


def test_the_report_is_one_file_that_runs_and_fetches_nothing(run):
    answer = client_of(run.owner).get(reverse("run_file", args=[run.pk, "report.html"]))
    assert answer["Content-Disposition"].startswith("attachment")
    text = answer.text
    seen = Watcher()
    seen.feed(text)
    assert seen.addresses == []
    assert not seen.tags & {"script", "link", "img", "iframe", "object", "form", "a", "base"}
    assert not re.search(r"url\(|@import", text)
    assert "\x1b" not in text
    assert "light-dark(" in text
    told = ("Leaderboard", "Cases answered worst", "rate_limited", "What is 0 + 1?", "scorers:")
    for part in told:
        assert part in text, part
    assert "&lt;script src=" in text
    assert len(text) < 150_000


def test_markdown_and_junit_come_from_the_page_and_from_rest(run):
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
