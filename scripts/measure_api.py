"""Measures the API of a whole site on this machine; one JSON line a figure.

- 20 launches at the same moment with one Idempotency-Key: how many runs there are then.
- GET /runs/ID while the run has 100 calls in flight.
- GET /runs/ID/scores?limit=200 in a run of 100,000 trials, anywhere in it.
"""

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.own_site import DOCUMENT, OwnSite  # noqa: E402

TIMES = 300
TRIALS = 100_000
IN_FLIGHT = 100
# Scores as the workers would have written them: to run 100,000 trials takes minutes and measures
# something else.
FILL = f"""
from django.utils.timezone import now
from runs.models import Run, Score, Case, Dataset
run = Run.objects.order_by("-pk").first()
candidate = run.candidates.get()
cases = list(Case.objects.filter(dataset=run.dataset))
done = set(Score.objects.filter(run=run).values_list("position", flat=True))
rows = (
    Score(run=run, position=p, candidate=candidate, case=cases[p % len(cases)],
          repeat=p // len(cases), value=1.0, passed=True, answer="5 " * 40, latency_ms=200.0,
          tokens_in=20, tokens_out=5, attempts=[["call", "ok", 1.0, 200.0, ""]],
          details=[["exact", 1.0, True, "is 5"]], finished=now())
    for p in range({TRIALS}) if p not in done
)
Score.objects.bulk_create(rows, batch_size=500)
print(Score.objects.filter(run=run).count())
"""


def say(what: str, **figures: Any) -> None:
    print(json.dumps({"what": what, **figures}), flush=True)


def measure(ask: Callable[[], Any]) -> dict[str, float]:
    took = []
    for _ in range(TIMES):
        start = time.perf_counter()
        ask()
        took.append(1000 * (time.perf_counter() - start))
    took.sort()
    shown = {"p50_ms": took[TIMES // 2], "p95_ms": took[TIMES * 95 // 100], "max_ms": took[-1]}
    return {name: round(value, 1) for name, value in shown.items()} | {"n": TIMES}


def launch_at_once(site: OwnSite) -> None:
    def start(_: int) -> int:
        found: int = site.post("/runs", {"configuration": "sums"}, Idempotency_Key="once")["id"]
        return found

    with ThreadPoolExecutor(20) as pool:
        runs = set(pool.map(start, range(20)))
    say("20 launches with one Idempotency-Key", runs=len(runs))


def ask_while_it_runs(site: OwnSite) -> None:
    rows = [
        {"question": f"What is {n} + {m}?", "expected": str(n + m)}
        for n in range(200)
        for m in range(100)
    ]
    site.post("/datasets", {"name": "many", "rows": rows})
    limits = {"max_concurrent": IN_FLIGHT, "requests_per_minute": None, "adaptive": False}
    document = {**DOCUMENT, "name": "busy", "dataset": "many", "cache": "off", "limits": limits}
    run = site.post("/runs", {"configuration": document})["id"]
    while site.get(f"/runs/{run}")["counts"]["in_flight"] < IN_FLIGHT * 0.9:
        time.sleep(0.2)
    site.get(f"/runs/{run}")
    figures = measure(lambda: site.get(f"/runs/{run}"))
    counts = site.get(f"/runs/{run}")["counts"]
    say("GET /runs/ID during a run", **figures, in_flight=counts["in_flight"], done=counts["done"])
    site.post(f"/runs/{run}/cancel", {})


def ask_for_scores(site: OwnSite) -> None:
    rows = [{"question": f"What is {n} + 1?", "expected": str(n + 1)} for n in range(1000)]
    site.post("/datasets", {"name": "thousand", "rows": rows})
    document = {**DOCUMENT, "name": "large", "dataset": "thousand", "repeats": TRIALS // 1000}
    run = site.post("/runs", {"configuration": document})["id"]
    site.post(f"/runs/{run}/cancel", {})
    time.sleep(2)
    site.manage("shell", "-v", "0", "-c", FILL)
    cursor = ""

    def ask() -> None:
        nonlocal cursor
        page = site.get(f"/runs/{run}/scores?limit=200&cursor={cursor}")
        assert len(page["data"]) == 200
        cursor = page["next_cursor"] or ""

    say("GET /scores, 200 rows of 100,000", **measure(ask))


def main() -> None:
    with OwnSite(workers=2) as site:
        launch_at_once(site)
        ask_while_it_runs(site)
        ask_for_scores(site)


if __name__ == "__main__":
    main()
