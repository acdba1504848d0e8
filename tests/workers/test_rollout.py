"""Rollouts through real workers: killed on the way, the same digest; its page, files and API."""

import asyncio
from pathlib import Path

import pytest
from django.urls import reverse

from runs.kinds import kind_of
from runs.kinds.rollout.standing import rollout_of
from runs.models import Run, RunState, Scope
from runs.services.runs import create_run
from tests.api.asking import Asker
from tests.engine.rollout.playing import reported, rollout
from tests.harness.factories import client_of
from tests.harness.patience import wait_until
from tests.harness.processes import wait_until_gone
from tests.workers.working import finish, kill, running_worker

pytestmark = pytest.mark.django_db(transaction=True)

MISSIONS = [{"environment": "grid/*", "max_steps": 40}]


def document():
    policies = ["random", "seeker", "network"]
    return rollout(name="<b>foragers", missions=MISSIONS, policies=policies, episodes=4)


async def expected():
    return (await reported(document())).digest


def test_a_killed_worker_changes_nothing_and_leaves_no_process(alice):
    digest = asyncio.run(expected())
    run = create_run(alice, document())
    with running_worker() as first:
        wait_until(lambda: Run.objects.get(pk=run.pk).done > 3)
        tasks = Path(f"/proc/{first.pid}/task")
        found = [(task / "children").read_text().split() for task in tasks.iterdir()]
        children = [int(child) for each in found for child in each]
        assert children
        kill(first, run)
        wait_until_gone(*children)
    with running_worker(), running_worker():
        finish(run)
    assert run.state == RunState.COMPLETED, run.reason
    assert run.done == run.planned == 36
    assert run.calls_sent == 0
    assert 1 <= run.peak_in_flight <= 2  # its jobs, over all workers
    assert rollout_of(run).digest == digest
    look_at_its_pages(alice, run, digest)


def look_at_its_pages(alice, run, digest):
    client = client_of(alice)
    page = client.get(reverse("run", args=[run.pk])).content.decode()
    for text in ("grid/harvest", "grid/maze", "grid/crowd", "12 of 12 episodes", digest, "Watch"):
        assert text in page
    assert "<b>foragers" not in page
    replay = client.get(reverse("run", args=[run.pk]), {"episode": "1", "step": "3"})
    shown = replay.content.decode()
    assert "Step 3 of" in shown
    assert shown.count('class="replay-agent replay-policy-0"') == 4
    rows = client.get(reverse("run_leaderboard", args=[run.pk]), {"mission": "grid/maze"})
    assert "Episodes of grid/maze" in rows.content.decode()
    files = {
        name: client.get(reverse("run_file", args=[run.pk, name]))
        for name in ("rollout.json", "summary.json", "summary.yaml")
    }
    assert {name: one.status_code for name, one in files.items()} == dict.fromkeys(files, 200)
    record = files["rollout.json"].json()
    assert record["digest"] == digest
    assert kind_of(run).board_record(run) == record
    assert [mission["mission"] for mission in record["missions"]] == [
        "grid/harvest",
        "grid/maze",
        "grid/crowd",
    ]
    summary = files["summary.json"].json()["missions"][0]
    assert summary["mission_name"] == "grid/harvest"
    assert summary["mission_summary"]["episodes"] == 4
    assert "mission_name: grid/harvest" in files["summary.yaml"].content.decode()
    api = Asker(alice, Scope.READ)
    board = api.get(f"/runs/{run.pk}/board").json()
    assert board == {"kind": "rollout", **record}
    kept = api.get(f"/runs/{run.pk}/scores/1/record").json()
    assert kept["assignments"] == [0, 0, 0, 0]
    assert len(kept["play"]) == kept["kept"] == kept["steps"]


def test_one_mission_after_the_other_is_planned_when_the_last_one_has_ended(alice):
    told = {"policies": ["random"], "missions": MISSIONS, "episodes": 3}
    run = create_run(alice, rollout(**told, levels=["episodes"]))
    with running_worker(), running_worker():
        finish(run)
    assert run.state == RunState.COMPLETED, run.reason
    assert run.done == run.planned == 9
    starts = run.chunks.order_by("pk").values_list("start", "trials")
    sizes = {start: len(trials) for start, trials in starts}
    assert {0, 3, 6} <= set(sizes)  # no chunk has trials of two missions
    assert max(start + size for start, size in sizes.items()) == 9
    assert rollout_of(run).digest == asyncio.run(reported(rollout(**told))).digest
