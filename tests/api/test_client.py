"""`evalsite.client`, against a live server."""

import socket
import subprocess
import sys
from typing import Any

import pytest
import yaml
from django.utils.timezone import now

from evalsite.client import Client, ClientError, Refused, Unreachable
from evalsite.client import http as client_http
from evalsite.client.frames import frame_of
from evalsite.client.showing import html_of
from evalsite.env import BASE_DIR
from runs.models import Run as StoredRun
from runs.models import RunState
from tests.harness.factories import run_document

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client(live_server, asker):
    return Client(f"{live_server.url}/", asker.text)


def test_a_run_is_started_waited_for_and_read(client, dataset, run, tmp_path):
    file = tmp_path / "sums.yaml"
    document = {name: value for name, value in run_document(dataset).items() if name != "name"}
    file.write_text(yaml.safe_dump(document))
    started = client.run(file)
    assert (started.name, started.state, started.has_ended) == ("sums", "queued", False)
    assert [one.id for one in client.runs(name="sums")][:1] == [started.id]
    looks: list[str] = []

    def finish(seen):
        """By the second look it is over."""
        looks.append(seen.state)
        StoredRun.objects.filter(pk=seen.id).update(state=RunState.COMPLETED, ended=now())

    assert started.wait(show=finish).state == "completed"
    assert looks == ["queued", "completed"]
    going = client.get_run(run.pk)
    assert going.score == 1.0
    rows = going.score_rows()
    found = [(row["position"], row["answer"], bool(row["error"])) for row in rows]
    assert found == [(0, "4", False), (1, "", True)]
    assert [row["position"] for row in going.scores("list", status="failed")] == [1]
    assert going.candidates()[0]["name"] == "plain · simulated/sim-small"
    assert "2 of 3" in repr(going)
    assert going.url == f"{client._site.url}/runs/{run.pk}/"
    assert going.cancel().state == "cancelled"


def test_waiting_ends_at_a_pause_and_after_the_time_that_was_given(client, run):
    with pytest.raises(ClientError, match="still running"):
        client.get_run(run.pk).wait(0, progress=False)
    StoredRun.objects.filter(pk=run.pk).update(state=RunState.PAUSED)
    assert client.get_run(run.pk).wait(progress=False).state == "paused"
    # Without a notebook progress is a bar, and a name is no markup.
    StoredRun.objects.filter(pk=run.pk).update(state=RunState.COMPLETED, name="[/x]", ended=now())
    assert client.get_run(run.pk).wait().name == "[/x]"


def test_a_refusal_says_where_but_not_the_token(client, live_server, asker, stranger, dataset, run):
    assert client.estimate(run_document(dataset))["calls_to_send"] == 3
    assert asker.text not in repr(client) + repr(client._site)
    with pytest.raises(Refused, match="models") as refused:
        client.run({**run_document(dataset), "models": []})
    assert (refused.value.status, refused.value.problems[0]["path"]) == (422, "models")
    for status, ask in (
        (404, lambda: client.get_run(77)),
        (401, lambda: Client(live_server.url, "ev_no").runs()),
        (404, lambda: Client(live_server.url, stranger.text).get_run(run.pk)),
    ):
        with pytest.raises(Refused) as refused:
            ask()
        assert refused.value.status == status
    assert StoredRun.objects.get() == run, "nothing was started"
    with pytest.raises(Unreachable, match=r"The answer is 30\d"):
        # A redirect is an answer of its own: the token is not sent to where a site points.
        Client(f"{live_server.url}/admin", "ev_x").runs()


def test_nobody_there_is_told(monkeypatch):
    monkeypatch.setattr(client_http, "PAUSE_SECONDS", 0.0)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # so that nobody else listens there meanwhile
        port = taken.getsockname()[1]
        with pytest.raises(Unreachable, match=f"127.0.0.1:{port} does not answer"):
            Client(f"http://127.0.0.1:{port}", "ev_x").runs()
    with pytest.raises(ClientError, match="no address of a site"):
        Client("127.0.0.1:8000", "ev_x")
    monkeypatch.delenv("EVALSITE_TOKEN", raising=False)
    with pytest.raises(ClientError, match="A token is needed"):
        Client("http://127.0.0.1:8000")


def test_a_run_shows_itself_escaped_and_its_scores_as_a_frame(monkeypatch):
    odd = "<img src=x onerror=alert(1)>'\""
    counts = {"planned": 4, "done": 2, "failed": 1, "cached": 0}
    score = {"value": 0.5, "low": 0.1, "high": 0.9}
    summary = {
        "id": 7, "name": odd, "state": "running", "reason": odd, "counts": counts, "score": score,
        "best": {**score, "name": odd}, "cost": 0.25,
    }  # fmt: skip
    text = html_of(summary, "http://127.0.0.1:8000/runs/7/")
    assert "<img" not in text
    assert text.count("&lt;img src=x onerror=alert(1)&gt;&#x27;&quot;") == 3
    assert "0.500 [0.100, 0.900]" in text
    rows: list[dict[str, Any]] = [{"value": 1.0}, {"value": None}]

    class Library:
        @staticmethod
        def DataFrame(rows, **options):  # noqa: N802
            return ("frame", len(rows), options)

    monkeypatch.setitem(sys.modules, "polars", Library)
    assert frame_of(rows, "polars") == ("frame", 2, {"infer_schema_length": None})
    assert frame_of(rows, "list") is rows
    with pytest.raises(ClientError, match="Choose pandas, polars or list"):
        frame_of(rows, "excel")  # type: ignore[arg-type]


def test_it_needs_neither_django_nor_anything_heavy():
    code = (
        "import sys; from evalsite.client import Client; import evalsite.client.showing; "
        "print([n for n in ('django', 'numpy', 'pydantic', 'redis', 'rich') if n in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=BASE_DIR, capture_output=True, text=True)
    assert ran.stdout == "[]\n", ran.stderr
