"""The benchmark: its numbers, its guards, its pages, and the whole of it with real parts; how
scripts/bars judges; and bench_select."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from runs.benchmarking.plan import Plan
from runs.benchmarking.points import curve_point
from runs.benchmarking.process_times import ProcessGone, cpu_seconds
from runs.benchmarking.spending import take_endpoint
from runs.benchmarking.table import write_report
from runs.benchmarking.whole import measure_all
from runs.models import Benchmark, Endpoint, EndpointKind
from runs.services.benchmarks import store_benchmark
from runs.services.endpoints import save_endpoint
from scripts.bars.judging import at_least, at_most, exactly, longest_at_provider, used_share
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.site import environment_of_the_tests
from tests.harness.table import table
from tests.runs.benchmark_parts import make_benchmark, make_report, measured
from tests.runs.conftest import said_by
from tests.workers.forking import ROOT
from tests.workers.working import running_worker
from workers.simulator.testing import running_simulator

PRICES = {"sim-small": {"input": 0.15, "output": 0.6}}
KEY = "sk-very-secret-key-0123456789"


def test_speed_ups_are_taken_within_a_repeat_and_the_table_tells_n_and_spread():
    sequential = [measured(1, wall, n=10) for wall in (2.0, 4.0, 8.0)]
    parallel = [measured(10, wall, n=10) for wall in (1.0, 1.0, 1.0)]
    point = curve_point(parallel, sequential, slots=5000, requests_per_minute=None)
    assert point["speedup"] == {"min": 2.0, "median": 4.0, "max": 8.0}
    assert point["wall_seconds"] == {"min": 1.0, "median": 1.0, "max": 1.0}
    assert (point["n"], point["repeats"], point["trials"]) == (10, 3, 30)
    few, many = [measured(4, 1.0, n=100)], [measured(4, 1.0, n=1000)]
    points = [curve_point(each, each, slots=9, requests_per_minute=None) for each in (few, many)]
    assert points[0]["cpu_seconds_per_1000"] is None
    assert points[1]["cpu_seconds_per_1000"]["median"] == 0.5
    text = write_report(make_report())
    (line,) = [line for line in text.splitlines() if line.startswith("100 in flight")]
    assert line.split()[3:9] == ["1,000", "2.30", "[2.20", "–", "2.40]", "2.00"]
    assert "Medians of 3 repeats" in text
    assert all(part in text for part in ("load 0.25 before", "seed 0", "0.1.0 (abc1234)"))
    text = write_report(make_report(repeats=1))
    assert "Measured once: there is no spread to judge by." in text
    assert "[" not in text


@table(
    (20, 5000, None, 20),  # what was asked for
    (200, 50, None, 50),  # slots of the endpoint
    (200, 5000, 3000, 10),  # requests a minute x 200 ms
)
def test_the_ceiling_is_the_smallest_of_the_limits(level, slots, rpm, ceiling):
    once = [measured(level, 5.0)]
    point = curve_point(once, [measured(1, 5.0, n=25)], slots=slots, requests_per_minute=rpm)
    assert (point["ceiling"], point["ideal_speedup"]) == (ceiling, level)


def test_sequential_is_measured_on_few_trials_and_the_time_of_an_ended_process_not_at_all():
    plan = Plan(trials=5000, latency_ms=200, concurrency=(100, 20), repeats=2)
    assert plan.levels == [1, 20, 100]
    assert [plan.trials_at(level) for level in plan.levels] == [25, 5000, 5000]
    assert plan.curve_calls == 2 * 10_025
    assert Plan.from_document(json.loads(json.dumps(plan.as_document()))) == plan
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    assert (cpu_seconds([os.getpid()]) or 0) > 0
    with pytest.raises(ProcessGone):
        cpu_seconds([child.pid])


FOR_MONEY = ("--endpoint", "paid", "--model", "sim-small")
REFUSED = {
    ("--concurrency", "1,many"): "whole numbers",
    ("--concurrency", "0"): "from 1 to 5000",
    ("--trials", "0"): "--trials is 0",
    ("--jitter", "2"): "--jitter is 2",
    ("--out", "/nowhere/at/all.json"): "no folder",
    ("--endpoint", "paid"): "needs --model",
    ("--endpoint", "lost", "--model", "m"): "no endpoint 'lost'",
    FOR_MONEY: "--max-dollars",
    ("--endpoint", "paid", "--model", "other", "--max-dollars", "1"): "of paid/other is unknown",
    (*FOR_MONEY, "--max-dollars", "0.0001", "--yes"): "too much",
    (*FOR_MONEY, "--max-dollars", "5"): "Add --yes",
}


@pytest.mark.django_db
def test_what_cannot_be_measured_or_paid_is_refused_before_anything_starts():
    Endpoint.objects.create(
        name="paid", kind=EndpointKind.OPENAI, base_url="https://provider.example/v1", prices=PRICES
    )
    found = {}
    for arguments, says in REFUSED.items():
        with pytest.raises(CommandError) as refused:
            call_command("benchmark", *arguments)
        if refused.value.returncode != 2 or says not in str(refused.value):
            found[arguments] = refused.value
    assert found == {}
    assert not Benchmark.objects.exists()


def test_history_page_and_export_tell_points_conditions_and_the_curve_and_names_are_text(browser):
    page = browser.get(reverse("benchmarks")).text
    assert "No benchmarks yet" in page
    assert "manage.py benchmark --trials" in page
    assert "needs the machine for itself" in page
    first, second = make_benchmark(), make_benchmark(repeats=1)
    answer = browser.get(reverse("benchmarks"))
    rows = answer.context["rows"]
    assert [row.benchmark.pk for row in rows] == [second.pk, first.pk]
    assert [row.widest["concurrency"] for row in rows] == [100, 100]
    assert first.get_absolute_url() in answer.text
    benchmark = make_benchmark(provider="<b>x</b>/m")
    answer = browser.get(benchmark.get_absolute_url())
    page = answer.text
    assert all(part in page for part in ("SQLite 3.40.1", "0.25 before", "2.20 – 2.40"))
    curve = answer.context["curve"]
    assert (curve["concurrency"], curve["ideal"]) == ([1, 100], [1.0, 100.0])
    assert curve["lowest"][1] < curve["measured"][1] < curve["highest"][1]
    assert ("<b>x</b>" in page, "&lt;b&gt;x&lt;/b&gt;" in page) == (False, True)
    answer = browser.get(reverse("benchmark_export", args=[benchmark.pk]))
    assert answer.json() == {**make_report(provider="<b>x</b>/m"), "id": benchmark.pk}
    assert "attachment" in answer["Content-Disposition"]
    assert browser.get(reverse("benchmark_export", args=[benchmark.pk + 1])).status_code == 404


def test_what_earlier_versions_measured_against_bars_is_kept_as_a_file(browser):
    speed = make_benchmark()
    results = {"suite": "limits", "met": True, "rows": [{"name": "tpm", "met": True}]}
    older = store_benchmark({**make_report(), "results": results})
    listed = browser.get(reverse("benchmarks"))
    assert [row.benchmark.pk for row in listed.context["rows"]] == [speed.pk]
    file = reverse("benchmark_export", args=[older.pk])
    assert file in listed.text
    kept = browser.get(older.get_absolute_url(), follow=True)
    assert kept.redirect_chain == [(file, 302)]
    assert kept.json()["results"] == results


@contextmanager
def running_command(folder, *arguments):
    """The command on the tests' database, with its temporary folders where we can look."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", "benchmark", *arguments],
        cwd=ROOT,
        env={**environment_of_the_tests(), "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def left_in(folder):
    """Files and processes that were not cleaned up."""
    files = [path.name for path in folder.iterdir()]
    told = str(folder).encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            files += [path.parent.name] if told in path.read_bytes() else []
        except OSError:
            pass  # ended while we looked
    return files


@pytest.mark.late
def test_a_tiny_benchmark_measures_the_real_path_and_leaves_nothing(transactional_db, tmp_path):
    out = tmp_path / "out.json"
    folder = tmp_path / "parts"
    folder.mkdir()
    tiny = ["--trials", "20", "--latency-ms", "5", "--concurrency", "1,4", "--repeats", "1"]
    tiny += ["--workers", "1", "--json", "--out", str(out)]
    with running_command(folder, *tiny) as command:
        text, said = command.communicate(timeout=PATIENCE_SECONDS)
    assert command.returncode == 0, said
    report = json.loads(text)
    assert report == json.loads(out.read_text())
    sequential, parallel = report["results"]["curve"]
    assert (sequential["n"], parallel["n"]) == (20, 20)
    assert (sequential["peak_in_flight"], sequential["calls"]) == (1, 20)
    assert 1 < parallel["peak_in_flight"] <= 4
    gain = parallel["trials_per_second"]["median"] / sequential["trials_per_second"]["median"]
    assert parallel["speedup"]["median"] == pytest.approx(gain, rel=0.01)
    assert parallel["wall_seconds"]["median"] >= parallel["ideal_seconds"] == 0.025
    off, cold, warm = report["results"]["cache"]
    assert [point["calls"] for point in (off, cold, warm)] == [20, 20, 0]
    assert warm["cached"] == 20
    assert [point["failed"] for point in (sequential, parallel, cold, warm)] == [0, 0, 0, 0]
    schedules = report["results"]["schedule"]
    assert [point["label"] for point in schedules] == ["two-level", "work-conserving"]
    assert [point["calls"] for point in schedules] == [135, 135]
    assert max(point["peak_in_flight"] for point in schedules) <= 20
    assert report["results"]["same_results"]
    assert report["conditions"]["workers"] == 1
    stored = Benchmark.objects.get(pk=report["id"])
    assert (stored.results, stored.conditions) == (report["results"], report["conditions"])
    assert left_in(folder) == []


@pytest.fixture
def provider(settings):
    """A provider of the site's own, with an endpoint that has a key."""
    with running_simulator(latency_ms=5, jitter=0) as simulator:
        settings.ALLOWED_PRIVATE_ENDPOINTS = (simulator.url.removeprefix("http://"),)
        yield simulator


@pytest.fixture
def mine(transactional_db, ada, provider):
    endpoint = Endpoint(
        name="mine",
        kind=EndpointKind.OPENAI,
        base_url=f"{provider.url}/v1",
        private_addresses=[provider.url.removeprefix("http://")],
        prices=PRICES,
    )
    return save_endpoint(ada, endpoint, KEY)


@pytest.mark.late
def test_a_benchmark_that_is_interrupted_leaves_nothing_behind(mine, provider, tmp_path):
    """On an endpoint that costs money, whose key must not be told either."""
    long = ["--trials", "20", "--concurrency", "4", "--repeats", "100", "--workers", "1"]
    money = ["--endpoint", "mine", "--model", "sim-small", "--max-dollars", "1", "--yes"]
    with running_command(tmp_path, *long, *money) as command:
        budget = command.stderr.readline()
        assert "3,000 calls" in budget
        assert "sequential" in command.stderr.readline()  # the first of what takes minutes
        assert left_in(tmp_path) != []
        command.send_signal(signal.SIGINT)
        text, said = command.communicate(timeout=PATIENCE_SECONDS)
    assert command.returncode == 130
    assert provider.ledger()["total"] >= 10
    assert "very-secret" not in budget + text + said
    assert left_in(tmp_path) == []
    assert not Benchmark.objects.exists()


@pytest.mark.late
def test_a_real_endpoint_is_called_with_its_key_and_within_its_budget(mine, provider):
    plan = Plan(
        trials=20,
        concurrency=(1, 4),
        repeats=1,
        workers=1,
        endpoint=take_endpoint(mine, "sim-small", 0.01),
    )
    sent = Plan.from_document(json.loads(json.dumps(plan.as_document())))
    mine.delete()  # the measuring process has another database
    said: list[str] = []
    with running_worker() as worker:
        assert worker.pid is not None
        report = measure_all(sent, [worker.pid], lambda *_: None, said.append)
    assert provider.ledger()["total"] == 30  # ten one at a time, twenty four at a time
    assert 0 < report["results"]["dollars"] < 0.01
    assert report["conditions"]["provider"] == "mine/sim-small"
    assert "very-secret" not in json.dumps(report) + "".join(said)
    assert "cache" not in report["results"]


def arrivals(seconds, accepted=True):
    """A minute of calls of 40 tokens, so far from each other, each a fifth of a second long."""
    told = {"accepted": accepted, "tokens_in": 36, "tokens_out": 4}
    times = [number * seconds for number in range(int(65 / seconds) + 1)]
    return [{"arrival": at, "end": at + 0.2, **told} for at in times]


def test_what_was_measured_is_held_against_its_bar():
    bars = {
        at_most("x", 1.05, 1.05): (True, "1.05"),
        at_most("x", 1.05, 1.0501): (False, "1.05"),
        at_least("x", 0.95, 0.949, "%"): (False, "94.9 %"),
        at_least("x", 2000, 2345.6, "trials/s"): (True, "2,346 trials/s"),
        exactly("x", 0, 1): (False, "1"),
        at_most("x", 1, None, "s"): (False, "–"),  # not measured is not met
    }
    assert [(bar.is_met, bar.as_document()["shown"]) for bar in bars] == [*bars.values()]
    burst = arrivals(65)[:1] * 100  # is no pace
    for rows, share in ((arrivals(0.1), 1.0), (burst + arrivals(0.2), 0.5)):
        assert used_share("requests", 0.95, 600, rows).value == pytest.approx(share, rel=0.01)
        assert used_share("tokens", 0.9, 600 * 40, rows).value == pytest.approx(share, rel=0.01)
    for rows in ([], arrivals(0.1)[:20], arrivals(0.1, accepted=False)):  # over before it was warm
        assert used_share("requests", 0.95, 600, rows).value is None
    rows = arrivals(1)
    assert longest_at_provider(3.0, rows).value == pytest.approx(0.2)
    assert not longest_at_provider(3.0, [*rows, {"arrival": 2.0, "end": None}]).is_met


bench = partial(said_by, "bench_select")
FIELDS = {
    *("matrix", "strategy", "seeds", "found"),
    *("accuracy", "evaluations", "brute_force_share", "failed"),
}


@pytest.fixture
def matrix(tmp_path):
    file = tmp_path / "small.csv"
    rows = [
        [f"agent={arm}", *(int(case % (arm + 2) > 0) for case in range(30))] for arm in range(4)
    ]
    file.write_text("\n".join(",".join(map(str, row)) for row in rows))
    return str(file)


def test_strategies_are_compared_as_json_or_as_a_table_of_all(matrix):
    names = "arm_elimination,paired_elimination"
    lines = json.loads(bench(matrix, "--strategy", names, "--seeds", "42-44", "--json"))
    assert [line["strategy"] for line in lines] == names.split(",")
    assert all(set(line) == FIELDS for line in lines)
    assert all((line["matrix"], line["seeds"]) == ("small", 3) for line in lines)
    rows = bench(matrix, "--seeds", "1").splitlines()
    assert rows[0].split()[:2] == ["matrix", "strategy"]
    assert {"brute_force", "paired_elimination"} <= {row.split()[1] for row in rows[1:]}


@table(
    (["--strategy", "guess"], "choose among arm_elimination"),
    (["--seeds", "9-3"], "write 42-91, or 7"),
    (["missing.json"], r"missing\.json"),
)
def test_a_wrong_argument_or_file_is_named(matrix, arguments, told):
    with pytest.raises(CommandError, match=told):
        bench(matrix, *arguments)
