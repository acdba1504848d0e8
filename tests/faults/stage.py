"""What a row plays on: a cluster, its load, seeded choices, and the verdict that comes of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

from tests.faults.checker import Bounds, Verdict, check_run, table_hash
from tests.faults.cluster import Cluster, wait_until
from tests.faults.nemesis import Nemesis
from workers.simulator.demo import DEMO_PROMPTS

ENDED = ("completed", "completed_with_errors", "failed", "cancelled")
REFERENCE_SECONDS = 120.0
BUSY_FACTOR = 3


class Load(NamedTuple):
    """How much work, and how fast. The standard one is 2,000 trials of 50 to 150 ms."""

    trials: int
    latency_ms: float
    slots: int


class Stage:
    def __init__(self, cluster: Cluster, seed: int, *, is_full: bool) -> None:
        self.cluster = cluster
        self.random = Random(seed)
        self.is_full = is_full
        self.nemesis = Nemesis(cluster, self.random)
        self.verdict = Verdict()

    def load(self, short: Load, full: Load) -> Load:
        return full if self.is_full else short

    def bar(self, seconds: float) -> float:
        """A length of time that may not be exceeded. The short tier runs wherever tests run, also
        beside other work: there it only tells what is late from what never happens."""
        return seconds if self.is_full else BUSY_FACTOR * seconds

    def launch(
        self,
        load: Load,
        *,
        endpoint: dict[str, Any] | None = None,
        orders: Sequence[dict[str, Any]] = (),
        provider: dict[str, Any] | None = None,
        held_at: float | None = None,
        **document: Any,
    ) -> Act:
        """Start a run whose undisturbed result is known, unless no such run can be made. Both
        meet the same provider, with `orders` for it; only this one its settings `provider`.

        From the share `held_at` of the calls on, none is answered until `Act.let_go`: however late
        we come, the run is not over."""
        cluster = self.cluster
        is_known = document.pop("is_known", True)
        document = self.document(load, **document)
        reference = self.reference(document, orders) if is_known else ""
        cluster.quiet()
        cluster.simulator.play(*orders)
        name = cluster.make_endpoint(**{"max_concurrent": load.slots, **(endpoint or {})})
        document["models"] = [f"{name}/{model}" for model in document["models"]]
        hold_after = None if held_at is None else int(held_at * load.trials)
        settings = {"latency_ms": load.latency_ms, "jitter": 0.5, "hold_after": hold_after}
        cluster.simulator.change(**settings, **(provider or {}))
        run = cluster.person.ask("launch", document=document)
        return Act(self, run, load, reference, name)

    def document(self, load: Load, **changes: Any) -> dict[str, Any]:
        """Three prompts on one model; `models` are names without their endpoint yet."""
        dataset = changes.pop("dataset", None)
        models = changes.pop("models", ["sim-large"])
        limits = changes.pop("limits", {})
        prompts = changes.pop("prompts", [prompt._asdict() for prompt in DEMO_PROMPTS])
        rows = -(-load.trials // (len(prompts) * len(models)))
        if dataset is None:
            dataset = f"sums-{rows}"
            self.cluster.person.ask("make_dataset", name=dataset, rows=rows)
        return {
            "name": "under fault",
            "kind": "evaluate",
            "dataset": dataset,
            "prompts": prompts,
            "models": models,
            "scorers": ["numeric"],
            "limits": {
                "max_concurrent": load.slots,
                "requests_per_minute": None,
                "timeout_seconds": 20,
                "adaptive": False,
                **limits,
            },
            **changes,
        }

    def reference(self, document: dict[str, Any], orders: Sequence[dict[str, Any]] = ()) -> str:
        """The table of the same run when nothing goes wrong, remembered by what was run."""
        cluster = self.cluster
        asked = {name: value for name, value in document.items() if name not in ("limits", "cache")}
        known = json.dumps([asked, *orders], sort_keys=True)
        if known not in cluster.hashes:
            cluster.quiet()
            cluster.simulator.play(*orders)
            name = cluster.make_endpoint(max_concurrent=100)
            models = [f"{name}/{model}" for model in document["models"]]
            limits = {"max_concurrent": 100, "requests_per_minute": None, "adaptive": False}
            calm = {**document, "models": models, "cache": "off", "limits": limits}
            run = cluster.person.ask("launch", document=calm)
            wait_until(lambda: cluster.truth.state(run) in ENDED, REFERENCE_SECONDS, "reference")
            cluster.hashes[known] = table_hash(cluster, run)
        return cluster.hashes[known]


class Act:
    """One run under fault, from its launch to its end."""

    def __init__(self, stage: Stage, run: int, load: Load, reference: str, endpoint: str) -> None:
        self.stage = stage
        self.cluster = stage.cluster
        self.run = run
        self.load = load
        self.reference = reference
        self.endpoint = endpoint
        self.began = time.monotonic()

    def done(self) -> int:
        return self.cluster.truth.done(self.run)

    def calls(self) -> int:
        return int(self.cluster.simulator.ledger()["total"])

    def wait_for_share(self, share: float, seconds: float = 60.0) -> None:
        """Until the provider has been asked this share of the trials' calls."""
        wanted = share * self.load.trials
        wait_until(lambda: self.calls() >= wanted, seconds, f"{share:.0%} of the calls")

    def let_go(self, **settings: Any) -> None:
        """What the provider holds is answered now."""
        self.cluster.simulator.change(hold_after=None, **settings)

    def wait_for(self, what: Callable[[], bool], seconds: float, name: str) -> float:
        return wait_until(what, seconds, name)

    def is_over(self) -> bool:
        return self.cluster.truth.state(self.run) in ENDED

    def finish(self, seconds: float) -> None:
        """I7: the run is over in time."""
        wait_until(self.is_over, seconds, "I7: the end of the run")
        self.stage.verdict.figure("run_seconds", time.monotonic() - self.began)

    def command(self, word: str, **body: Any) -> Any:
        """Through the API, as a person's script does."""
        return self.cluster.visitor.command(self.run, word, **body)

    def events(self, kind: str) -> list[dict[str, Any]]:
        """What was noted of the run, oldest first: its data, with the message."""
        rows = self.cluster.truth.rows(
            f"SELECT data, message FROM runs_runevent"
            f" WHERE run_id = {self.run} AND kind = '{kind}' ORDER BY id"
        )
        read = [(json.loads(data) if isinstance(data, str) else data, said) for data, said in rows]
        return [{**data, "message": said} for data, said in read]

    def check(self, **bounds: Any) -> None:
        check_run(
            self.cluster,
            self.run,
            Bounds(**{"slots": self.load.slots, **bounds}),
            self.stage.verdict,
            self.reference,
        )
