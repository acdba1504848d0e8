"""Workers that are killed while a strategy decides: it is replayed from what is stored, and the run
is the same as in one process, whatever its kind."""

import asyncio
from pathlib import Path

import pytest
from django.db.models import Sum
from django.urls import reverse

from runs.kinds import kind_of
from runs.kinds.evolve.standing import evolution_of
from runs.kinds.rollout.standing import rollout_of
from runs.models import Run, RunState, Scope, ScoreRecord
from runs.selectors.limits.limits import configuration_now
from runs.selectors.runs.stored_history import stored_history
from runs.services.chunks import planning
from runs.services.runs import create_run
from tests import toy_kind
from tests.api.asking import Asker
from tests.engine.mutate.training_runs import mutation, train
from tests.engine.rollout.playing import reported, rollout
from tests.harness.factories import client_of, toy_document
from tests.harness.patience import PATIENCE_SECONDS, wait_until
from tests.harness.processes import wait_until_gone
from tests.workers.by_hand import in_one_process, plain
from tests.workers.working import finish, kill, running_worker
from workers.engine.kinds import KINDS
from workers.engine.records import CONFIRM, EVALUATE, PROPOSE
from workers.simulator.demo import make_questions

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = [question._asdict() for question in make_questions(10)]
FIRST = {"name": "sums", "first": len(ROWS)}


def killed_on_the_way(alice, document, simulator, answered, is_on_the_way, also=""):
    """The run, finished by a second worker. The first one is killed when the provider has answered
    so many calls, and no more, and what they led to is stored."""
    simulator.change(hold_after=answered)
    run = create_run(alice, {**document, "cache": "off"})
    with running_worker(also=also) as first:
        wait_until(lambda: is_on_the_way(Run.objects.get(pk=run.pk)))
        kill(first, run)
    run.refresh_from_db()
    assert not run.is_finished
    assert is_on_the_way(run)
    simulator.change(hold_after=None)
    with running_worker(also=also):
        finish(run)
    assert run.state == RunState.COMPLETED, run.reason
    return run


@pytest.mark.parametrize(
    "strategy",
    [
        pytest.param({"name": "paired_elimination", "batch": 4}, id="rounds for many"),
        pytest.param({"name": "matrix_ucb", "batch": 1, "share": 0.6}, id="rounds of one trial"),
    ],
)
def test_a_killed_worker_changes_nothing_of_a_selection(alice, selection, simulator, strategy):
    selection |= {"strategy": strategy, "dataset": FIRST}
    expected = in_one_process(selection, simulator, ROWS)
    run = killed_on_the_way(alice, selection, simulator, 2 * 12, lambda run: run.done >= 6)
    assert plain(stored_history(run)) == expected
    assert run.planned == run.done == run.asked == len(expected)


@pytest.mark.postgresql("leases: taken back from a dead worker, and its results fenced off")
def test_a_killed_worker_confirms_nothing_twice_and_loses_nothing(alice, both, simulator):
    guarded = {**both, "held_out": 5}
    expected = in_one_process(guarded, simulator)
    run = killed_on_the_way(alice, guarded, simulator, 18, lambda run: run.done >= 10)
    assert plain(stored_history(run)) == expected
    assert run.candidates.filter(role=CONFIRM, done=5).count() == 1
    assert run.done == run.planned == 15 * run.candidates.filter(role=EVALUATE).count()
    assert run.chunks.filter(deaths=1).exists()
    assert run.events.filter(message__startswith="A worker was lost").count() == 1


def test_a_killed_worker_bears_each_candidate_once(alice, document, simulator, monkeypatch):
    """Also of those that were made from answers which the dead worker was told."""
    monkeypatch.setitem(KINDS, "toy", toy_kind.Toy)
    rounds, cases = 4, len(ROWS)
    toy = toy_document(document, dataset=FIRST, rounds=rounds)
    expected = in_one_process(toy, simulator, ROWS)
    run = killed_on_the_way(
        alice,
        toy,
        simulator,
        cases + 4,  # the first prompt on all cases, one proposal, three trials of its child
        lambda run: run.candidates.count() >= 3,
        also=toy_kind.__name__,
    )
    assert plain(stored_history(run)) == expected
    born = list(run.candidates.order_by("position"))
    assert [one.key for one in born] == list(dict.fromkeys(trial[1] for trial, _, _ in expected))
    assert [one.role for one in born] == [EVALUATE, *[PROPOSE, EVALUATE] * (rounds - 1)]
    assert [one.done for one in born] == [cases, *[1, cases] * (rounds - 1)]
    answers = dict(run.scores.values_list("candidate__key", "answer"))
    for proposal, child in zip(born[1::2], born[2::2], strict=True):
        assert child.document["prompt"]["system"] == answers[proposal.key]
    assert run.planned == run.done == cases * rounds
    records = ScoreRecord.objects.filter(run=run)
    assert [one.score.case.position for one in records] == [0] * rounds
    assert run.by_role == {PROPOSE: counted(run.scores.filter(candidate__role=PROPOSE))}
    assert run.calls_sent == run.asked == len(expected)


def counted(scores):
    """Each was answered by the one call that was made for it."""
    sums = scores.aggregate(tokens_in=Sum("tokens_in"), tokens_out=Sum("tokens_out"))
    cost = pytest.approx(sum(score.cost or 0.0 for score in scores))
    number = scores.count()
    return {**sums, "done": number, "failed": 0, "sent": number, "cached": 0, "cost": cost}


GENERATIONS, KILLED_IN = 3, 2


@pytest.fixture
def evolve(document):
    kept = {name: document[name] for name in ("name", "scorers", "limits")}
    texts = ["<b>Answer.", "<b>Answer with the number only.", "<b>Be friendly and answer."]
    return {
        **kept,
        "kind": "evolve",
        "dataset": FIRST,
        "prompts": [{"name": f"p{n}", "system": text} for n, text in enumerate(texts)],
        "models": ["simulated/sim-small"],
        "operators": [
            {"reflect": {"model": "simulated/sim-large", "weight": 2}},
            {"combine": {"model": "simulated/sim-large"}},
        ],
        # Two children behind a gate: with one alone a generation is over before it can be seen.
        "strategy": {
            "name": "genetic",
            "preset": "reflective",
            "max_generations": GENERATIONS,
            "population_size": 3,
            "gate": 5,
        },
    }


def children(run):
    return run.candidates.filter(role=EVALUATE, name__startswith=f"g{KILLED_IN}.")


def is_in_generation(run):
    """Some of its children are tried, and it is not measured yet."""
    measured = len(evolution_of(run).generations)
    return measured == KILLED_IN - 1 and run.scores.filter(candidate__in=children(run)).exists()


def test_a_killed_worker_changes_nothing_of_a_lineage(alice, evolve, simulator):
    expected = in_one_process(evolve, simulator, ROWS)
    with running_worker():
        undisturbed = finish(create_run(alice, evolve))
    tried = undisturbed.scores.filter(candidate__in=children(undisturbed))
    first = min(tried.values_list("position", flat=True))  # each trial takes one call
    run = killed_on_the_way(alice, evolve, simulator, first + 3, is_in_generation)
    assert plain(stored_history(run)) == expected
    client = client_of(alice)
    boards = [client.get(f"/api/v1/runs/{one.pk}/board").json() for one in (run, undisturbed)]
    assert boards[0]["lineage"] == boards[1]["lineage"]
    report = evolution_of(run)
    assert len(report.generations) == GENERATIONS
    assert report.reason == f"all {GENERATIONS} generations are done"
    assert report.best is not None
    assert run.candidates.get(position=run.chosen).key == report.best.key
    asked = run.scores.filter(candidate__role=EVALUATE).values("candidate", "case", "repeat")
    assert asked.distinct().count() == asked.count() == run.done
    record = client.get(reverse("run_file", args=[run.pk, "evolution.json"])).json()
    assert record["best_fitness"] == report.best_fitness
    assert record["total_generations"] == len(record["generation_results"]) == GENERATIONS
    assert record["total_evaluations"] == run.asked
    page = client.get(reverse("run", args=[run.pk])).text
    for text in ("Fitness by generation", "What made better prompts", report.best.name):
        assert text in page
    assert "&lt;b&gt;" in page
    assert not any(f"<b>{word}" in page for word in ("Answer", "Be friendly"))


UPDATES, PROCESSES, STEPS = 3, 4, 3
TARGET, ASKED = "sim-small", STEPS + 1  # in a segment: the query as it was, then each step's


@pytest.fixture
def mutate(document):
    strategy = {"name": "ppo", "num_processes": PROCESSES, "num_steps": STEPS, "updates": UPDATES}
    limits = {"max_concurrent": 8, "timeout_seconds": PATIENCE_SECONDS}
    return mutation(dataset=document["dataset"], strategy=strategy, limits=limits, held_out=4)


def is_in_second_update(run):
    """Its policy is born, and some of its segments are not done."""
    policy = run.candidates.filter(name="update 2").first()
    return policy is not None and policy.done < PROCESSES


@pytest.mark.postgresql("types: records and weights are bytes")
def test_a_killed_worker_changes_nothing_of_the_weights(alice, mutate, simulator, monkeypatch):
    expected = asyncio.run(train(mutate, simulator.url, questions=20)).weights
    # All of the first update, and of the second one segment's worth: it cannot end.
    simulator.play(
        {"match": {"model": TARGET}, "do": "pass", "times": (PROCESSES + 1) * ASKED},
        {"match": {"model": TARGET}, "do": "hang", "times": None},
    )
    run = create_run(alice, {**mutate, "cache": "off"})
    assert run.candidates.count() == 1
    with running_worker() as first:
        wait_until(lambda: is_in_second_update(run))
        kill(first, run)
    simulator.play()
    assert is_in_second_update(run)
    with running_worker():
        finish(run)
    assert run.state == RunState.COMPLETED, run.reason
    newest = run.candidates.order_by("-position")[0]
    assert newest.document["weights"] == expected
    assert run.planned == run.done == UPDATES * PROCESSES
    assert run.by_role["held_out"]["done"] == 3 * 4
    assert client_of(alice).get(reverse("run", args=[run.pk])).status_code == 200
    segments = run.scores.filter(candidate__role=EVALUATE)
    assert segments.values("candidate", "case", "repeat").distinct().count() == run.done
    check_replay_in_turns(run, monkeypatch)


def check_replay_in_turns(run, monkeypatch):
    """Of more records than are read at once: between its turns leases are renewed."""
    monkeypatch.setattr(planning, "RECORDS_AT_ONCE", run.asked // 2 + 1)
    configuration = configuration_now(run)
    assert planning.session_of(run, configuration, turn_seconds=0) is None
    session = planning.session_of(run, configuration, turn_seconds=0)
    assert session is not None
    assert session.asked == session.told == run.asked
    keys = [one.key for one in session.candidates]
    assert keys == list(run.candidates.order_by("position").values_list("key", flat=True))


GRIDS = ["grid/harvest", "grid/maze", "grid/crowd"]
MISSIONS = [{"environment": "grid/*", "max_steps": 40}]


def foraging():
    policies = ["random", "seeker", "network"]
    return rollout(name="<b>foragers", missions=MISSIONS, policies=policies, episodes=4)


def test_a_killed_worker_changes_nothing_of_a_rollout_and_leaves_no_process(alice):
    digest = asyncio.run(reported(foraging())).digest
    run = create_run(alice, foraging())
    with running_worker() as first:
        wait_until(lambda: Run.objects.get(pk=run.pk).done > 3)
        tasks = Path(f"/proc/{first.pid}/task")
        found = [(task / "children").read_text().split() for task in tasks.iterdir()]
        children = [int(child) for each in found for child in each]
        assert children
        kill(first, run)
        wait_until_gone(*children)
    told = {"policies": ["random"], "missions": MISSIONS, "episodes": 3}
    with running_worker(), running_worker():
        finish(run)
        stepwise = finish(create_run(alice, rollout(**told, levels=["episodes"])))
    assert run.state == RunState.COMPLETED, run.reason
    assert run.done == run.planned == 36
    assert run.calls_sent == 0
    assert run.peak_in_flight <= 2  # its jobs, over all workers
    assert rollout_of(run).digest == digest
    look_at_its_pages(alice, run, digest)
    check_one_mission_after_the_other(stepwise, asyncio.run(reported(rollout(**told))).digest)


def look_at_its_pages(alice, run, digest):
    client = client_of(alice)
    page = client.get(reverse("run", args=[run.pk])).text
    for text in (*GRIDS, "12 of 12 episodes", digest, "Watch"):
        assert text in page
    assert "<b>foragers" not in page
    replay = client.get(reverse("run", args=[run.pk]), {"episode": "1", "step": "3"})
    shown = replay.text
    assert "Step 3 of" in shown
    assert shown.count('class="replay-agent replay-policy-0"') == 4
    rows = client.get(reverse("run_leaderboard", args=[run.pk]), {"mission": "grid/maze"})
    assert "Episodes of grid/maze" in rows.text
    files = {
        name: client.get(reverse("run_file", args=[run.pk, name]))
        for name in ("rollout.json", "summary.json", "summary.yaml")
    }
    assert {name: one.status_code for name, one in files.items()} == dict.fromkeys(files, 200)
    record = files["rollout.json"].json()
    assert record["digest"] == digest
    assert kind_of(run).board_record(run) == record
    assert [mission["mission"] for mission in record["missions"]] == GRIDS
    summary = files["summary.json"].json()["missions"][0]
    assert summary["mission_name"] == "grid/harvest"
    assert summary["mission_summary"]["episodes"] == 4
    assert "mission_name: grid/harvest" in files["summary.yaml"].text
    api = Asker(alice, Scope.READ)
    board = api.get(f"/runs/{run.pk}/board").json()
    assert board == {"kind": "rollout", **record}
    kept = api.get(f"/runs/{run.pk}/scores/1/record").json()
    assert kept["assignments"] == [0, 0, 0, 0]
    assert len(kept["play"]) == kept["kept"] == kept["steps"]


def check_one_mission_after_the_other(run, digest):
    """Each is planned when the last one has ended."""
    assert run.state == RunState.COMPLETED, run.reason
    assert run.done == run.planned == 9
    starts = run.chunks.order_by("pk").values_list("start", "trials")
    sizes = {start: len(trials) for start, trials in starts}
    assert {0, 3, 6} <= set(sizes)  # no chunk has trials of two missions
    assert max(start + size for start, size in sizes.items()) == 9
    assert rollout_of(run).digest == digest
