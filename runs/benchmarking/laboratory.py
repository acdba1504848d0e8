"""The parts of a benchmark: Redis, a simulated provider and workers of its own, all stopped at
the end, in a temporary data folder that the site never sees."""

import os
import re
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from evalsite.embedded import redis_server
from evalsite.embedded.child_processes import describe_end, die_with_parent, signal_group
from evalsite.embedded.parts import MANAGE
from evalsite.env import BASE_DIR
from runs.benchmarking.plan import Plan

START_SECONDS = 60.0
GRACE_SECONDS = 10.0  # between SIGTERM and SIGKILL; nothing in there is worth waiting longer for
POLL_SECONDS = 0.02
LAST_LINES = 15
# Of the site, not of the benchmark: it has its own database, Redis and keys.
FOREIGN = ("DATABASE_URL", "REDIS_URL", "EVALSITE_SECRET_KEY", "EVALSITE_ORIGINS")


class LaboratoryFailed(Exception):
    """A part could not be started, or ended too early. Says what the part itself said."""


class Part(NamedTuple):
    name: str
    process: subprocess.Popen[bytes]
    log: Path


class Laboratory(NamedTuple):
    """Where everything runs."""

    folder: Path
    environment: dict[str, str]
    worker_pids: list[int]


@contextmanager
def running_laboratory(plan: Plan) -> Iterator[Laboratory]:
    """Everything a run needs, ready for the first one, until the block ends, however it ends."""
    with ExitStack() as held:
        prefix = "evalsite-benchmark-"
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix=prefix)))
        redis = redis_server.prepare(folder)
        env = laboratory_environment(plan, folder, redis.url)
        held.enter_context(started("redis", redis.argv, env, folder))
        migrate = start(held, "migrate", ["migrate", "-v", "0"], env, folder)
        simulator = start(held, "simulator", ["simulate", "--port", "0", *speed(plan)], env, folder)
        address = wait_for_line(simulator, r"listens on (http://\S+)")
        env["EVALSITE_SIMULATOR_URL"] = address
        wait_for_end(migrate)
        redis_server.wait_until_answering(redis.url)
        workers = [
            start(held, f"worker {number}", ["work", "--skip-checks"], env, folder)
            for number in range(1, plan.workers + 1)
        ]
        for worker in workers:
            wait_for_line(worker, r"(Worker ready)")
        yield Laboratory(folder, env, [worker.process.pid for worker in workers])


def laboratory_environment(plan: Plan, folder: Path, redis_url: str) -> dict[str, str]:
    foreign = {name for base in FOREIGN for name in (base, f"{base}_FILE")}
    return {
        **{name: value for name, value in os.environ.items() if name not in foreign},
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": str(BASE_DIR),
        "DJANGO_SETTINGS_MODULE": "evalsite.settings",
        "EVALSITE_DATA": str(folder),
        "EVALSITE_WORKERS": str(plan.workers),
        "REDIS_URL": redis_url,
        "EVALSITE_SIMULATOR_SECRET": secrets.token_urlsafe(),
    }


def speed(plan: Plan) -> list[str]:
    options = {"--latency-ms": plan.latency_ms, "--jitter": plan.jitter, "--seed": plan.seed}
    return [word for name, value in options.items() for word in (name, str(value))]


def start(
    held: ExitStack, name: str, command: Sequence[str], env: dict[str, str], folder: Path
) -> Part:
    return held.enter_context(started(name, [*MANAGE, *command], env, folder))


@contextmanager
def started(name: str, argv: Sequence[str], env: dict[str, str], folder: Path) -> Iterator[Part]:
    """A process that writes into a log of its own and does not outlive the block."""
    log = folder / f"{name.replace(' ', '_')}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            argv,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches the command alone; it stops the parts in order
            preexec_fn=die_with_parent(),  # noqa: PLW1509  # no threads here
        )
    try:
        yield Part(name, process, log)
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        pass  # killed below
    signal_group(process.pid, signal.SIGKILL)  # also what it started itself
    process.wait()


def wait_for_line(part: Part, pattern: str) -> str:
    """The group of a line that a part writes when it is ready."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        if found := re.search(pattern, part.log.read_text(errors="replace")):
            return found[1]
        if part.process.poll() is not None or time.monotonic() > deadline:
            raise LaboratoryFailed(explain(part))
        time.sleep(POLL_SECONDS)


def wait_for_end(part: Part) -> None:
    try:
        part.process.wait(timeout=START_SECONDS)
    except subprocess.TimeoutExpired:
        raise LaboratoryFailed(explain(part)) from None
    if part.process.returncode:
        raise LaboratoryFailed(explain(part))


def explain(part: Part) -> str:
    code = part.process.poll()
    end = f"did not get ready within {START_SECONDS:.0f} s" if code is None else describe_end(code)
    lines = part.log.read_text(errors="replace").splitlines()[-LAST_LINES:]
    return "\n".join([f"The benchmark's {part.name} {end}. It said:", *lines])
