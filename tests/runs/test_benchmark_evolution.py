"""The evolution suite: what it refuses, how it counts, and one row with real parts."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from runs.benchmarking.evolution.rows import EVOLUTION_ROWS, Evolved, unaccounted
from runs.benchmarking.evolution.work import balanced, evolution_work, one_at_a_time, slots
from runs.benchmarking.limits.whole import choose_rows, join
from runs.benchmarking.measuring import Traffic
from runs.benchmarking.plan import Plan, Size
from runs.models import Benchmark
from runs.services.benchmarks import store_benchmark
from tests.harness.factories import client_of, make_person
from tests.harness.patience import PATIENCE_SECONDS
from tests.runs.benchmark_parts import make_report, measured
from tests.runs.test_benchmarks import left_in, running_command
from workers.engine.kinds import read_configuration
from workers.engine.kinds.evolve import Evolution


def test_its_rows_are_its_own() -> None:
    assert choose_rows("", "evolution") == tuple(EVOLUTION_ROWS)
    assert choose_rows("wide,sizes", "evolution") == ("sizes", "wide")
    plan = Plan(suite="evolution", rows=("sizes",), sizes=(Size(30, 50),))
    assert Plan.from_document(json.loads(json.dumps(plan.as_document()))) == plan


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(
            ["--rows", "errors"], "no errors. Choose from: sizes", id="another suite's row"
        ),
        pytest.param(["--sizes", "30"], "population x problems, as in", id="half a size"),
        pytest.param(["--sizes", "30x50x2"], "population x problems, as in", id="too much"),
        pytest.param(["--sizes", "1x50"], "needs from 2x1", id="too small"),
        pytest.param(["--endpoint", "paid"], "simulated provider only", id="endpoint"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    transactional_db: None, arguments: list[str], says: str
) -> None:
    with pytest.raises(CommandError, match=says) as refused:
        call_command("benchmark", "--suite", "evolution", *arguments)
    assert refused.value.returncode == 2


@pytest.mark.parametrize(
    ("limits", "at_once", "per_minute"),
    [(slots(200), 200, None), (one_at_a_time(), 1, None), (balanced(), 50, 3500)],
)
def test_its_work_is_limited_as_it_says(
    limits: dict[str, object], at_once: int, per_minute: int | None
) -> None:
    model = {"endpoint": "simulated", "model": "sim-small"}
    found = read_configuration(evolution_work("d", model, limits, population=30, generations=5))
    assert isinstance(found, Evolution)
    assert found.limits.max_concurrent == at_once
    assert found.limits.requests_per_minute == per_minute
    assert found.bound_trials(50).least == 30 * 50


@pytest.mark.parametrize(
    ("asked", "sent", "stored", "joined", "calls", "missing"),
    [
        pytest.param(100, 80, 15, 5, 80, 0, id="all accounted for"),
        pytest.param(100, 80, 15, 4, 80, 1, id="one without an answer"),
        pytest.param(100, 80, 15, 5, 81, 1, id="the provider saw one more"),
    ],
)
def test_every_trial_has_its_answer_from_somewhere(
    asked: int, sent: int, stored: int, joined: int, calls: int, missing: int
) -> None:
    traffic = Traffic(calls=calls, refused=0, peak_in_flight=50)
    one = Evolved(measured(50, 1.0, traffic=traffic), asked, sent, stored, joined)
    assert unaccounted("one", one).value == missing
    assert one.hit_rate == (stored + joined) / asked


@pytest.mark.django_db
def test_its_page_says_what_it_is() -> None:
    row = {
        "name": "wide",
        "title": EVOLUTION_ROWS["wide"].title,
        "workers": 2,
        "load_before": 0.5,
        "bars": [],
        "met": True,
        "conditions": "100 x 100",
        "problem": "",
        "seconds": 7.0,
    }
    parts = [{"conditions": make_report()["conditions"], "rows": [row]}]
    stored = store_benchmark(join(parts, "evolution"))
    visitor = client_of(make_person("alice"))
    assert f"#{stored.pk} evolution" in visitor.get(reverse("benchmarks")).content.decode()
    page = visitor.get(stored.get_absolute_url()).content.decode()
    assert "Bars on prompts that evolve" in page


@pytest.mark.late
def test_a_tiny_size_is_measured_with_real_parts(transactional_db, tmp_path):
    tiny = ["--suite", "evolution", "--rows", "sizes", "--sizes", "8x10", "--workers", "1"]
    with running_command(tmp_path, *tiny, "--json") as command:
        text, said = command.communicate(timeout=PATIENCE_SECONDS)
    assert text, said
    report = json.loads(text)
    (row,) = report["results"]["rows"]
    bars = {bar["measured"]: bar for bar in row["bars"]}
    assert bars["8 x 10, again: answers from the cache"]["value"] == 1
    assert bars["8 x 10: trials - sent - cached - joined"]["value"] == 0
    fast, slow = (bars[f"{what}: problems/s"]["value"] for what in ("8 x 10", "one at a time"))
    assert bars["8 x 10: times as fast"]["value"] == pytest.approx(fast / slow, rel=0.01)
    assert report["results"]["suite"] == "evolution"
    assert Benchmark.objects.get(pk=report["id"]).results == report["results"]
    assert left_in(tmp_path) == []
