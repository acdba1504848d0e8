"""What a row plays on: a site, its load, seeded choices, what it measured and found broken."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from math import inf
from random import Random
from typing import Any, NamedTuple

from evalsite.embedded.loose_parts import LoggedProcess
from tests.faults.checker import Bounds, check_run, table_hash
from tests.harness.processes import states_of_threads
from tests.harness.site import SiteInParts
from workers.simulator.demo import DEMO_PROMPTS

ENDED = ("completed", "completed_with_errors", "failed", "cancelled")
REFERENCE_SECONDS = 120.0
BUSY_FACTOR = 3
POLL_SECONDS = 0.02
WRITING_SECONDS = 0.05  # in which one that was met in the middle of a write may end it


class TooLate(AssertionError):
    """Something that was promised did not happen in time."""


class Waits:
    """How many times as long as promised something may take: the short tier runs wherever tests
    run, also beside other work. The full one (tests/faults/conftest.py) keeps to what is said."""

    factor = BUSY_FACTOR


def wait_for(what: Callable[[], Any], seconds: float, name: str) -> float:
    """Wait for other processes' doing; how long it took."""
    began, limit = time.monotonic(), Waits.factor * seconds
    while not what():
        if time.monotonic() - began > limit:
            raise TooLate(f"{name}: not within {limit:.0f} s.")
        time.sleep(POLL_SECONDS)
    return time.monotonic() - began


class Load(NamedTuple):
    """How much work, and how fast. The standard one is 2,000 trials of 50 to 150 ms."""

    trials: int
    latency_ms: float
    slots: int


STANDARD = Load(trials=1998, latency_ms=100, slots=20)


class Stage:
    def __init__(
        self, site: SiteInParts, hashes: dict[str, str], seed: int, *, is_full: bool
    ) -> None:
        self.site, self.hashes = site, hashes
        self.seed, self.random = seed, Random(seed)
        self.is_full = is_full
        self.figures: dict[str, Any] = {}
        self.violations: list[str] = []

    def expect(self, holds: bool, what: str) -> None:
        if not holds:
            self.violations.append(what)

    def figure(self, name: str, value: float, most: float = inf, *, least: float = -inf) -> None:
        """A number for the report, and its bar if it has one."""
        self.figures[name] = round(value, 2)
        self.expect(value <= most, f"{name} is {value:.2f}, more than {most}")
        self.expect(value >= least, f"{name} is {value:.2f}, less than {least}")

    def bar(self, seconds: float) -> float:
        """A length of time that may not be exceeded."""
        return Waits.factor * seconds

    def launch(
        self,
        short: Load,
        full: Load | None = STANDARD,
        *,
        endpoint: dict[str, Any] | None = None,
        orders: Sequence[dict[str, Any]] = (),
        provider: dict[str, Any] | None = None,
        held_at: float | None = None,
        until: float = 0.0,
        is_known: bool = True,
        **changes: Any,
    ) -> Act:
        """Start a run whose undisturbed result is known, unless no such run can be made. Both
        meet the same provider, with `orders` for it; only this one its settings `provider`.

        From the share `held_at` of the calls on, none is answered until `Act.let_go`: however late
        we come, the run is not over. It returns when the share `until` of them was made."""
        load = full if self.is_full and full else short
        document = self.document(load, **changes)
        reference = self.reference(document, orders) if is_known else ""
        self.quiet()
        self.site.simulator.play(*orders)
        name = self.site.make_endpoint(**{"max_concurrent": load.slots, **(endpoint or {})})
        document["models"] = [f"{name}/{model}" for model in document["models"]]
        hold_after = None if held_at is None else int(held_at * load.trials)
        settings = {"latency_ms": load.latency_ms, "jitter": 0.5, "hold_after": hold_after}
        self.site.simulator.change(**settings, **(provider or {}))
        run = self.site.person.ask("launch", document=document)
        act = Act(self, run, load, reference, name)
        act.wait_for_share(until)
        return act

    def document(self, load: Load, **changes: Any) -> dict[str, Any]:
        """Three prompts on one model; `models` are names without their endpoint yet."""
        dataset = changes.pop("dataset", None)
        models = changes.pop("models", ["sim-large"])
        limits = changes.pop("limits", {})
        prompts = changes.pop("prompts", [prompt._asdict() for prompt in DEMO_PROMPTS])
        rows = -(-load.trials // (len(prompts) * len(models)))
        if dataset is None:
            dataset = f"sums-{rows}"
            self.site.person.ask("make_dataset", name=dataset, rows=rows)
        usual = {"requests_per_minute": None, "timeout_seconds": 20, "adaptive": False}
        return {
            "name": "under fault",
            "kind": "evaluate",
            "dataset": dataset,
            "prompts": prompts,
            "models": models,
            "scorers": ["numeric"],
            "limits": {"max_concurrent": load.slots, **usual, **limits},
            **changes,
        }

    def reference(self, document: dict[str, Any], orders: Sequence[dict[str, Any]] = ()) -> str:
        """The table of the same run when nothing goes wrong, remembered by what was run."""
        asked = {name: value for name, value in document.items() if name not in ("limits", "cache")}
        known = json.dumps([asked, *orders], sort_keys=True)
        if known not in self.hashes:
            self.quiet()
            self.site.simulator.play(*orders)
            name = self.site.make_endpoint(max_concurrent=100)
            models = [f"{name}/{model}" for model in document["models"]]
            limits = {"max_concurrent": 100, "requests_per_minute": None, "adaptive": False}
            calm = {**document, "models": models, "cache": "off", "limits": limits}
            run = self.site.person.ask("launch", document=calm)
            state = self.site.database.state
            wait_for(lambda: state(run) in ENDED, REFERENCE_SECONDS, "reference")
            self.hashes[known] = table_hash(self.site, run)
        return self.hashes[known]

    def quiet(self) -> None:
        """Everything is up, nobody is frozen, no fault is left over."""
        site, simulator = self.site, self.site.simulator
        site.start_again(*(part for part in (*site.workers, site.web) if not part.is_alive))
        wait_for(lambda: simulator.ledger()["in_flight"] == 0, 30, "the provider is idle")
        simulator.reset()
        plain: dict[str, Any] = {"latency_ms": 0, "jitter": 0.3}
        plain |= dict.fromkeys(("rpm", "tpm", "max_in_flight", "hold_after"))
        rates = [name for name in simulator.change() if name.endswith("_rate")]
        simulator.change(**plain, **dict.fromkeys(rates, 0.0))
        site.person.ask("forget_answers")

    def busy_worker(self) -> LoggedProcess:
        """One that holds a lease: nothing is lost with an idle one."""
        found: list[LoggedProcess] = []

        def is_found() -> bool:
            found[:] = [worker for worker in self.site.workers if self.leases_of(worker)]
            return bool(found)

        wait_for(is_found, 20, "a worker holds a lease")
        return self.random.choice(found)

    def leases_of(self, worker: LoggedProcess) -> int:
        owned = f"state = 'leased' AND owner LIKE '%:{worker.pid}:%'"
        return self.site.database.count("runs_chunk", owned)

    def freeze(self, part: LoggedProcess) -> float:
        """Not in the middle of a write to SQLite: that has one lock for all, so that nobody could
        go on until the frozen one does. The moment of it."""
        stand_still(part)
        while not self.site.database.can_be_written():
            part.signal(signal.SIGCONT)
            time.sleep(WRITING_SECONDS)
            stand_still(part)
        return time.monotonic()


def stand_still(part: LoggedProcess) -> None:
    """Until no thread of it goes on: one could begin a write after the lock was looked at."""
    part.signal(signal.SIGSTOP)
    wait_for(lambda: states_of_threads(part.pid) <= {"T"}, 20, "it stands still")


@contextmanager
def other_workers(
    site: SiteInParts, *environments: Mapping[str, str]
) -> Iterator[list[LoggedProcess]]:
    """Workers that have these variables, in the place of the usual ones."""
    usual = site.workers
    for worker in usual:
        worker.kill()
    site.workers = [site.add_worker(**environment) for environment in environments]
    try:
        for worker in site.workers:
            site.parts.wait_for_worker(worker)
        yield site.workers
    finally:
        for worker in site.workers:
            worker.kill()
        site.workers = usual


class Act:
    """One run under fault, from its launch to its end. `site`: where it is now."""

    def __init__(
        self, stage: Stage, run: int, load: Load, reference: str, endpoint: str = ""
    ) -> None:
        self.stage, self.site = stage, stage.site
        self.run, self.load, self.reference, self.endpoint = run, load, reference, endpoint
        self.began = time.monotonic()

    @property
    def state(self) -> str:
        return self.site.database.state(self.run)

    @property
    def reason(self) -> str:
        return str(self.site.database.one(f"SELECT reason FROM runs_run WHERE id = {self.run}"))

    def is_over(self) -> bool:
        return self.state in ENDED

    def done(self) -> int:
        return self.site.database.done(self.run)

    def scores(self, where: str) -> int:
        return self.site.database.count("runs_score", f"run_id = {self.run} AND ({where})")

    def calls(self) -> int:
        return int(self.site.simulator.ledger()["total"])

    def wait_for_share(self, share: float, seconds: float = 60.0) -> None:
        """Until the provider has been asked this share of the trials' calls."""
        wanted = share * self.load.trials
        wait_for(lambda: self.calls() >= wanted, seconds, f"{share:.0%} of the calls")

    def let_go(self, **settings: Any) -> None:
        """What the provider holds is answered now."""
        self.site.simulator.change(hold_after=None, **settings)

    def finish(self, seconds: float) -> None:
        """I7: the run is over in time."""
        wait_for(self.is_over, seconds, "I7: the end of the run")
        self.stage.figure("run_seconds", time.monotonic() - self.began)

    def command(self, word: str, **body: Any) -> Any:
        """Pause, resume, cancel or retry it, through the API, as a person's script does."""
        answer = self.site.visitor.post(f"/runs/{self.run}/{word}", body)
        assert answer.status == HTTPStatus.OK, f"{word} was answered {answer}"
        return answer.json()

    def events(self, kind: str) -> list[dict[str, Any]]:
        """What was noted of the run, oldest first: its data, with the message."""
        rows = self.site.database.rows(
            f"SELECT data, message FROM runs_runevent"
            f" WHERE run_id = {self.run} AND kind = '{kind}' ORDER BY id"
        )
        read = [(json.loads(data) if isinstance(data, str) else data, said) for data, said in rows]
        return [{**data, "message": said} for data, said in read]

    def check(self, **bounds: Any) -> None:
        check_run(self, Bounds(**{"slots": self.load.slots, **bounds}))
