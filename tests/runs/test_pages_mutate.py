"""The pages, files and lists of a mutation: what is told while it trains, and what came of it."""

import csv
import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from runs.kinds import kind_of
from runs.kinds.mutate.comparing import sentences_of
from runs.models import Run
from runs.selectors.runs.run_summary import run_detail
from runs.services.chunks.planning import advance_run
from runs.services.chunks.recording import Results, record_results
from runs.services.runs import create_run
from tests.harness.factories import client_of
from tests.runs.mutation_parts import (
    RUDE,
    Player,
    make_mutation,
    make_owner,
    mutation_document,
)
from tests.workers.by_hand import next_lease
from workers.engine.kinds.mutate.report import MutationReport, Rival
from workers.engine.statistics.intervals import Estimate
from workers.engine.statistics.paired import Difference

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ada() -> User:
    return make_owner()


def page_of(person: User, run: Run, **given: Any) -> str:
    """As a person reads it: runs of blanks are one."""
    answer = client_of(person).get(reverse("run", args=[run.pk]), given)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def file_of(person: User, run: Run, name: str) -> str:
    answer = client_of(person).get(reverse("run_file", args=[run.pk, name]))
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def test_what_is_going_on_is_told(ada: User) -> None:
    run = create_run(ada, mutation_document())
    assert "Update 1: 0 of 3 segments." in page_of(ada, run)
    refused = client_of(ada).get(reverse("run_file", args=[run.pk, "weights.json"]))
    assert refused.status_code == 409
    advance_run(run.pk)
    lease = next_lease(run)
    play, trials = Player(run), lease.work.trials[:2]
    results = Results(leases={lease.chunk_id: lease})
    results.scores[lease.chunk_id] = [play(trial) for trial in trials]
    assert record_results(run.pk, results) == set()
    page = page_of(ada, run)
    assert "Update 1: 2 of 3 segments." in page
    assert "Reward by update" in page
    assert "when an update is whole" in page
    assert "On held-out queries" not in page


def test_what_came_of_it_is_told(ada: User) -> None:
    run = make_mutation(ada)
    page = page_of(ada, run)
    assert "data-phase" not in page
    assert "of 2; 3 environments" in page
    assert "last 2 updates" in page
    assert "no step was excluded" in page
    assert "ppo is not" in page  # four queries show nothing
    assert "4 held-out queries" in page
    assert "Occupancy, of 3 calls at once: now" in page
    assert "Rewrites of update 2" in page
    assert f"&lt;b&gt;{RUDE[3:]}" in page
    assert "<b>=HYPERLINK" not in page
    held_out = page_of(ada, run, update="held_out", show="successes")
    assert "Rewrites on held-out queries" in held_out
    assert "Rewrites of update 1" in page_of(ada, run, update="1", show="nonsense")
    assert "Rewrites of update 2" in page_of(ada, run, update="99")


def test_files_have_all_of_it(ada: User) -> None:
    run = make_mutation(ada)
    found = kind_of(run).board_record(run)
    assert [row["update"] for row in found["updates"]] == [1, 2]
    assert set(found["held_out"]) == {"ppo", "uniform", "ucb"}
    assert all(row["in_flight"] > 0 for row in found["updates"])  # each call took a millisecond
    assert run_detail(run).score.value_failures_wrong is None  # a zero is a reward
    weights = json.loads(file_of(ada, run, "weights.json"))
    assert weights["digest"] == found["weights"]
    assert [len(layer["weights"]) for layer in weights["layers"]] == [8, 4, 4]
    assert [len(layer["biases"]) for layer in weights["layers"]] == [4, 4, 3]
    lines = file_of(ada, run, "transitions.jsonl").splitlines()
    assert len(lines) == found["transitions"]
    rows = list(csv.DictReader(io.StringIO(file_of(ada, run, "transitions.csv"))))
    assert len(rows) == len(lines)
    assert {row["policy"] for row in rows} == {"", "ppo", "uniform", "ucb"}
    assert not any(cell.startswith("=") for row in rows for cell in row.values())


def test_excluded_steps_are_shown_and_counted_nowhere(ada: User) -> None:
    run = make_mutation(ada, refused=3, failing=1, held_out=None)
    page = page_of(ada, run, show="excluded")
    assert "Excluded since a call failed: mutator: refused" in page
    assert "2 segments lost every step" in page
    report = kind_of(run).board_record(run)
    assert (report["excluded"], report["transitions"]) == (3 + 2 * 4, 2 * 3 * 4)
    assert sum(row["reward"]["n"] for row in report["operators"] if row["reward"]) == 13
    first = page_of(ada, run, update="1", show="excluded")
    assert "✗ excluded" in first
    assert "The mutator &lt;i&gt;refused." in first


def test_lists_and_comparisons_take_what_was_learnt(ada: User) -> None:
    run = make_mutation(ada)
    kind = kind_of(run)
    (headline,) = kind.headlines([run]).values()
    trained = kind.board_record(run)["held_out_facts"][0]["reward"]
    assert headline.value == pytest.approx(trained["value"])
    assert headline.n == 4
    assert f"{headline.value:.3f}" in client_of(ada).get(reverse("runs")).content.decode()
    assert [one.name for one in kind.compared(run)] == ["ppo"]
    without = make_mutation(ada, held_out=None)
    (latest,) = kind.headlines([without]).values()
    assert latest.n == 2 * 3
    assert [one.name for one in kind.compared(without)] == ["update 2"]
    other = make_mutation(ada, seed=4)
    compared = client_of(ada).get(reverse("compare"), {"base": run.pk, "with": other.pk})
    assert compared.status_code == 200


@pytest.mark.parametrize(
    ("mean", "p", "says"),
    [
        pytest.param(0.3, 0.001, "ppo is better, beyond chance, than uniform: +0.300", id="better"),
        pytest.param(0.3, 0.2, "ppo is not shown to be better than uniform", id="by chance"),
        pytest.param(-0.3, 0.2, "ppo is not better than uniform", id="not"),
        pytest.param(-0.3, 0.001, "ppo is worse, beyond chance, than uniform", id="worse"),
    ],
)
def test_a_comparison_is_told_plainly(mean: float, p: float, says: str) -> None:
    difference = Difference(mean, mean - 0.1, mean + 0.1, p, "test", 12)
    rivals = [Rival(name, Estimate(0.5, 0.4, 0.6, 12), 0.5, 0) for name in ("ppo", "uniform")]
    report = MutationReport(
        [], 1, [], 0, 0, {}, {}, rivals, {"uniform": difference, "ucb": None}, ""
    )
    assert sentences_of(report)[0].startswith(says)


def test_the_empty_page_offers_it(ada: User) -> None:
    client = client_of(ada)
    assert "Find rewrites that break a model" in client.get(reverse("runs")).content.decode()
    answer = client.post(reverse("run_demo"), {"kind": "mutate"})
    run = Run.objects.get()
    assert answer.headers["Location"] == run.get_absolute_url()
    assert (run.kind, run.planned) == ("mutate", 320)
