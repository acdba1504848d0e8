"""1,000 CartPole episodes through the whole site, beside bare loops on the same cores.

The site's parts are a benchmark's own: Redis, a database and one worker. Scores, replays and
counters are stored, and a snapshot is taken four times a second, as for an open page.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any

from runs.benchmarking.laboratory import Laboratory, running_laboratory
from runs.benchmarking.plan import Plan
from runs.benchmarking.process_times import cpu_seconds as process_seconds
from scripts.rollout_figures import Bar, Took, children_of, cpu_seconds, note, tell

EPISODES = 1000
STEPS = 500  # of each: the policy keeps the pole up
CORES = 2
ROUNDS = 2
FRAME_SECONDS = 0.25
BARE = """
import sys, gymnasium
from workers.engine.policies import POLICIES
policy, world = POLICIES["balance"](), gymnasium.make("CartPole-v1")
print("ready", flush=True)
sys.stdin.readline()
for seed in range(int(sys.argv[1])):
    seen, _ = world.reset(seed=seed)
    is_over = False
    while not is_over:
        seen, _, is_lost, is_long, _ = world.step(policy.step(seen, None))
        is_over = is_lost or is_long
"""


def measure_through_the_site() -> None:
    """Imports do not count, nor do the starts of a site's processes: they are there already."""
    one = both = site = children = Took(float("inf"), float("inf"))
    with running_laboratory(Plan(workers=1)) as laboratory:
        runs = SiteRuns(laboratory)
        runs.play(20)
        for _ in range(ROUNDS):
            one = best(one, loops(1))
            both = best(both, loops(CORES))
            site = best(site, runs.play(EPISODES))
            children = best(children, runs.children)
    note("bare loop, one process", one)
    note(f"bare loops, {CORES} processes", both)
    note(f"the whole site, jobs {CORES}", site)
    note("of it, the processes that play", children)
    title = f"{EPISODES} CartPole episodes, the whole site: steps/s of"
    tell(f"{title} one bare loop", one.seconds / site.seconds, Bar(0.85))
    tell(f"{title} {CORES} bare loops", both.seconds / site.seconds, Bar(0.85))
    tell(f"{title} bare loops", one.cpu_seconds / site.cpu_seconds, Bar(0.85), by="CPU")
    playing = one.cpu_seconds / children.cpu_seconds  # a worker's other work goes by the clock, too
    tell(f"{title} bare loops, while playing", playing, Bar(0.85), by="CPU")


def best(first: Took, second: Took) -> Took:
    return Took(*map(min, first, second))


def loops(processes: int) -> Took:
    """So many processes at once, which share the episodes."""
    argv = [sys.executable, "-c", BARE, str(EPISODES // processes)]
    pipe = subprocess.PIPE
    started = [subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) for _ in range(processes)]
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
    imports, before = used_by([process.pid for process in started]), cpu_seconds()
    begun = time.perf_counter()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in started:
        process.communicate()
    return Took(time.perf_counter() - begun, cpu_seconds() - before - imports)


def used_by(pids: Iterable[int]) -> float:
    """Seconds of the processor, of these processes and all that they started."""
    family = set(pids)
    fresh = set(family)
    while fresh:
        fresh = {child for pid in fresh for child in children_of(pid)} - family
        family |= fresh
    return process_seconds(family) or 0.0


class SiteRuns:
    def __init__(self, laboratory: Laboratory) -> None:
        os.environ.update(laboratory.environment)
        import django

        django.setup()
        from django.contrib.auth.models import User

        self._owner = User.objects.create(username="measures", is_staff=True)
        self._worker_pids = laboratory.worker_pids
        self.children = Took(0.0, 0.0)  # the processes that play, in the last run

    def play(self, episodes: int) -> Took:
        from runs.models import RunState
        from runs.selectors.runs.snapshot import take_snapshot
        from runs.services.runs import create_run

        mission = {"environment": "gymnasium/CartPole-v1", "max_steps": STEPS}
        document: dict[str, Any] = {
            "kind": "rollout",
            "name": "CartPole",
            "missions": [mission],
            "policies": ["balance"],
            "episodes": episodes,
            "jobs": CORES,
        }
        before, alone = used_by(self._worker_pids), process_seconds(self._worker_pids) or 0.0
        run = create_run(self._owner, document)
        while not run.is_finished:
            time.sleep(FRAME_SECONDS)
            run.refresh_from_db()
            take_snapshot(run)
        assert run.state == RunState.COMPLETED, run.reason
        assert (run.done, run.failed) == (episodes, 0)
        assert run.ended is not None
        seconds = (run.ended - run.created).total_seconds()
        used = used_by(self._worker_pids) - before
        own = (process_seconds(self._worker_pids) or 0.0) - alone
        self.children = Took(seconds, used - own)
        return Took(seconds, used)
