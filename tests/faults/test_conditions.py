"""Too little memory, wrong clocks, and networks that part one worker alone."""

import resource
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.faults.stage import STANDARD, Load, other_workers, wait_for
from tests.harness.postgres import SUPERUSER
from workers.simulator.demo import DEMO_PROMPTS, make_questions

SHORT = Load(trials=300, latency_ms=100, slots=10)
HOUR = 3600
LARGE_ANSWER = "4" * 2_000_000
SHIM = Path(__file__).with_name("clock_shim.c")
BLOCK_BYTES = 64 * 1024


@pytest.mark.row(
    "6",
    "a worker gets no more memory, and large answers",
    "dies of it, back within 10 s, same table",
)
def test_a_worker_gets_no_more_memory(stage):
    load = STANDARD if stage.is_full else SHORT
    rows = load.trials // len(DEMO_PROMPTS)
    large = [question.question for question in make_questions(rows)[-25:]]  # none before it starves
    orders = [
        {"match": {"contains": text}, "times": None, "do": "answer", "answer": LARGE_ANSWER}
        for text in large
    ]
    stage.reference(stage.document(load), orders)
    for worker in stage.site.workers:
        worker.kill()  # new ones have no memory to spare from earlier work
    act = stage.launch(load, None, orders=orders, until=0.3)
    victim = stage.busy_worker()
    # It may have less memory than it has: the next allocation of any size fails.
    held = int(Path(f"/proc/{victim.pid}/statm").read_text().split()[5])  # data and stacks
    size = held * resource.getpagesize() // 2
    resource.prlimit(victim.pid, resource.RLIMIT_DATA, (size, size))
    wait_for(lambda: not victim.is_alive or act.is_over(), 60, "the end of the starved one")
    stage.expect(not victim.is_alive, "the starved worker lived to the end")
    stage.figure("exit_code", victim.popen.returncode or 0)
    began = time.monotonic()
    stage.site.start_again(victim)
    stage.figure("back_seconds", time.monotonic() - began, most=10)
    act.finish(120)
    # While it dies it may not be able to talk to Redis: it keeps to its half, the other has all.
    slots = act.load.slots + act.load.slots // 2
    act.check(slots=slots, wasted=2 * act.load.slots)


@pytest.mark.row(
    "34",
    "clocks of the workers jump by an hour, ahead, back, and right again",
    "same table, 0 wasted calls, 0 negative durations",
    on="postgres",
)
def test_clocks_jump(stage):
    """One worker's an hour ahead, the other's an hour back, and both return."""
    library, count = build_shim(stage.site.folder), stage.site.database.count
    clocks = [WrongClock(library, name) for name in ("ahead", "behind")]
    with other_workers(stage.site, *(clock.environment for clock in clocks)):
        act = stage.launch(SHORT)
        for share, jump in ((0.2, HOUR), (0.5, -HOUR), (0.8, 0)):
            act.wait_for_share(share)
            for clock, sign in zip(clocks, (1, -1), strict=True):
                clock.set(sign * jump)
        act.finish(120)
        negative = act.scores("latency_ms < 0")
        negative += count("runs_run", f"id = {act.run} AND ended < started")
        stage.figure("negative_durations", negative, most=0)
        soon = "now() + interval '30 minutes'"
        stage.figure("scores_dated_ahead", act.scores(f"finished > {soon}"), most=0)
        answers = count("runs_cachedreply", f"created > {soon}")
        stage.figure("answers_dated_ahead", answers, least=1)  # the clock was wrong indeed
        act.check(wasted=0)


def build_shim(folder):
    """A few lines of C in front of libc."""
    library = folder / "clock_shim.so"
    argv = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SHIM), "-ldl"]
    try:
        subprocess.run(argv, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError(f"A wrong clock needs a C compiler: {error}") from error
    return library


class WrongClock:
    """A wall clock that is wrong and jumps, for the processes with its `environment`."""

    def __init__(self, library, name):
        self._file = library.with_name(f"clock_{name}")
        self._file.write_bytes(struct.pack("=q", 0))
        self.environment = {"LD_PRELOAD": str(library), "FAULT_CLOCK": str(self._file)}

    def set(self, seconds):
        """Wrong by so much from now on: the processes that use it see a jump."""
        with self._file.open("r+b", buffering=0) as file:  # in place: it is mapped
            file.write(struct.pack("=q", seconds))


@pytest.mark.row(
    "46",
    "one worker alone without Redis for 20 s, later without the database",
    "same table; limits hold",
    on="postgres",
)
def test_one_worker_is_parted_from_the_others(stage):
    site = stage.site
    place = urlsplit(site.env["REDIS_URL"])
    to_redis = Gate((place.hostname, place.port))
    folder = Path(tempfile.mkdtemp(prefix="evalsite-gate-"))
    to_database = Gate(str(site.postgres.folder / ".s.PGSQL.5432"), folder)
    host, port = to_redis.address
    netloc = f"{place.netloc.rpartition('@')[0]}@{host}:{port}"  # with the password
    parted = {
        "REDIS_URL": place._replace(netloc=netloc).geturl(),
        "DATABASE_URL": f"postgresql://{SUPERUSER}@/postgres?host={folder}",
    }
    try:
        with other_workers(site, {}, parted) as workers:
            act = stage.launch(SHORT, STANDARD._replace(trials=2997))
            for share, gate in ((0.2, to_redis), (0.6, to_database)):
                act.wait_for_share(share)
                gate.shut()
                time.sleep(20 if stage.is_full else 8)  # longer than a lease
                gate.open()
            act.finish(180)
            stage.expect(all(worker.is_alive for worker in workers), "a worker died")
            for trouble in ("Consumer encountered a connection error", "error connecting in"):
                stage.expect(trouble in workers[1].text, f"nobody said: {trouble}")
            act.check()
    finally:
        to_redis.close()
        to_database.close()
        shutil.rmtree(folder)


class Gate:
    """A way from one worker to one service. Shut, it cuts all connections and takes no new ones, as
    a network that refuses them; everybody else's stays open.

    The target is an address and a port, or a socket in a folder."""

    def __init__(self, target, folder=None):
        self._target = target
        self._kind = socket.AF_UNIX if folder else socket.AF_INET
        self._is_open = True
        self._ends = set()
        self._listener = socket.socket(self._kind)
        self._listener.bind(str(folder / Path(target).name) if folder else ("127.0.0.1", 0))
        self.address = self._listener.getsockname()
        self._listener.listen(64)
        threading.Thread(target=self._accept, name="gate", daemon=True).start()

    def shut(self):
        self._is_open = False
        for end in list(self._ends):
            self._cut(end)

    def open(self):
        self._is_open = True

    def close(self):
        self.shut()
        self._listener.close()

    def _accept(self):
        with suppress(OSError):  # closed
            while True:
                near, _ = self._listener.accept()
                if not self._is_open:
                    near.close()
                    continue
                far = socket.socket(self._kind)
                far.connect(self._target)
                self._ends |= {near, far}
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source, sink):
        with suppress(OSError):  # cut
            while block := source.recv(BLOCK_BYTES):
                sink.sendall(block)
        self._cut(source)
        self._cut(sink)

    def _cut(self, end):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)  # wakes who waits on it
        end.close()
        self._ends.discard(end)
