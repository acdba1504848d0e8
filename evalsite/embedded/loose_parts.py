"""Parts of a site that nobody supervises, each with a log of its own: those of a benchmark, and
those that tests start, break and start again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalsite.embedded import redis_server
from evalsite.embedded.child_processes import describe_end, die_with_parent, signal_group
from evalsite.embedded.parts import (
    MANAGE,
    SIMULATOR_READY,
    WORKER_READY,
    answers_ready,
    simulator_argv,
    web_argv,
    worker_argv,
)
from evalsite.embedded.ports import free_port
from evalsite.env import BASE_DIR

POLL_SECONDS = 0.02
READY_SECONDS = 60.0
LAST_LINES = 20


class ProcessFailed(Exception):
    """One did not get ready, or ended too early. Says what the process itself said."""


class LoggedProcess:
    """Leads its own group and dies with this process. One that `talks` is told lines and answers
    in lines; then only what it says on standard error is in the log."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        folder: Path,
        *,
        talks: bool = False,
        ready_seconds: float = READY_SECONDS,
    ) -> None:
        self.name, self.argv, self.env = name, list(argv), dict(env)
        self.log = folder / f"{name.replace(' ', '_')}.log"
        self._talks = talks
        self._ready_seconds = ready_seconds
        self._from = 0  # where the lines of this life begin in the log
        self.popen = self._start()

    def _start(self) -> subprocess.Popen[str]:
        with self.log.open("ab") as log:
            self._from = log.tell()
            return subprocess.Popen(
                self.argv,
                env=self.env,
                stdin=subprocess.PIPE if self._talks else subprocess.DEVNULL,
                stdout=subprocess.PIPE if self._talks else log,
                stderr=log,
                text=True,
                start_new_session=True,  # Ctrl-C reaches whoever started it, and nobody else
                preexec_fn=die_with_parent(),  # noqa: PLW1509  # it only makes two system calls
            )

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def is_alive(self) -> bool:
        return self.popen.poll() is None

    @property
    def text(self) -> str:
        """What it has written into the log since it was last started."""
        with self.log.open("rb") as log:
            log.seek(self._from)
            return log.read().decode(errors="replace")

    def wait_for(self, pattern: str | re.Pattern[str]) -> str:
        """What the pattern's last group found in its lines."""
        deadline = time.monotonic() + self._ready_seconds
        while True:
            has_ended = not self.is_alive  # asked before its last words are read
            if found := re.search(pattern, self.text):
                return found[found.lastindex or 0]
            if has_ended or time.monotonic() > deadline:
                raise ProcessFailed(self.explain())
            time.sleep(POLL_SECONDS)

    def wait(self, seconds: float) -> float:
        """Until it has ended; how long that took."""
        began = time.monotonic()
        self.popen.wait(timeout=seconds)
        return time.monotonic() - began

    def wait_for_success(self) -> None:
        try:
            self.wait(self._ready_seconds)
        except subprocess.TimeoutExpired:
            raise ProcessFailed(self.explain()) from None
        if self.popen.returncode:
            raise ProcessFailed(self.explain())

    def explain(self) -> str:
        code = self.popen.poll()
        late = f"did not get ready within {self._ready_seconds:.0f} s"
        end = late if code is None else describe_end(code)
        return "\n".join([f"{self.name} {end}. It said:", *self.text.splitlines()[-LAST_LINES:]])

    def signal(self, number: signal.Signals) -> None:
        if self.is_alive:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """With what it started itself. Once its end was noticed its number may be another's."""
        if self.popen.returncode is None:
            signal_group(self.pid, signal.SIGKILL)
        self.popen.wait()

    def stop(self, grace_seconds: float) -> None:
        """SIGTERM, and SIGKILL for what is left after the seconds of grace."""
        if not self.is_alive:
            return
        self.signal(signal.SIGTERM)
        try:
            self.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            pass  # killed below
        signal_group(self.pid, signal.SIGKILL)  # also what it started itself and left behind
        self.popen.wait()

    def start_again(self) -> None:
        if self.is_alive:
            self.kill()
        self.popen = self._start()


class LooseParts:
    """Starts parts that work in one data folder; `env` is what the next one is told."""

    def __init__(
        self, folder: Path, env: Mapping[str, str], *, ready_seconds: float = READY_SECONDS
    ) -> None:
        self.folder = folder
        self.env = {
            **env,
            "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": str(BASE_DIR),
            "EVALSITE_DATA": str(folder),
        }
        self.started: list[LoggedProcess] = []
        self._ready_seconds = ready_seconds

    def start(
        self, name: str, argv: Sequence[str], env: Mapping[str, str] = {}, *, talks: bool = False
    ) -> LoggedProcess:
        told, seconds = {**self.env, **env}, self._ready_seconds
        process = LoggedProcess(name, argv, told, self.folder, talks=talks, ready_seconds=seconds)
        self.started.append(process)
        return process

    def start_redis(self) -> LoggedProcess:
        """It is looked at by whoever comes first to need it: `wait_for_redis`."""
        embedded = redis_server.prepare(self.folder)
        self.env["REDIS_URL"] = embedded.url
        return self.start("redis", embedded.argv)

    def wait_for_redis(self) -> None:
        redis_server.wait_until_answering(self.env["REDIS_URL"], self._ready_seconds)

    def start_migration(self) -> LoggedProcess:
        return self.start("migrate", [*MANAGE, "migrate", "-v", "0", "--skip-checks"])

    def start_simulator(self, *speed: str) -> LoggedProcess:
        """Ready when it returns; the parts that are started later know its address."""
        simulator = self.start("simulator", simulator_argv(0, *speed))
        self.env["EVALSITE_SIMULATOR_URL"] = simulator.wait_for(SIMULATOR_READY)
        return simulator

    def start_worker(self, number: int, *options: str, **env: str) -> LoggedProcess:
        return self.start(f"worker {number}", worker_argv("--skip-checks", *options), env)

    def wait_for_worker(self, worker: LoggedProcess) -> None:
        worker.wait_for(WORKER_READY)

    def start_web(self) -> LoggedProcess:
        port = free_port()
        self.env["EVALSITE_ORIGINS"] = f"http://127.0.0.1:{port}"
        return self.start("web", web_argv("127.0.0.1", port))

    def wait_for_web(self, web: LoggedProcess) -> str:
        """Its address."""
        url = web.env["EVALSITE_ORIGINS"]
        deadline = time.monotonic() + self._ready_seconds
        while not answers_ready(url):
            if not web.is_alive or time.monotonic() > deadline:
                raise ProcessFailed(web.explain())
            time.sleep(POLL_SECONDS)
        return url

    def stop(self, grace_seconds: float) -> None:
        """Those that were started last are stopped first."""
        for process in reversed(self.started):
            process.stop(grace_seconds)
