"""Rows on several worker processes: one limit, and one call for equal questions."""

from runs.benchmarking.measuring import wait_until_finished
from runs.models import Chunk, Run
from runs.services.runs import create_run
from scripts.bars.judging import Bar, Outcome, at_least, at_most, exactly
from scripts.bars.stage import Stage

PROCESSES = 4

SHARED_LIMIT, SHARED_RUNS, SHARED_TRIALS, SHARED_LATENCY_MS = 40, 3, 600, 100.0
LEAST_USED = 0.9

EQUAL_TRIALS, EQUAL_REPEATS, EQUAL_LATENCY_MS = 1000, 2, 500.0
EQUAL_SLOTS = 64  # gives chunks of 32 trials: all of them are in work at the same time


def shared(stage: Stage) -> Outcome:
    """Three runs that each may use all of one endpoint's slots."""
    trials = stage.scaled(SHARED_TRIALS)
    stage.provider(latency_ms=SHARED_LATENCY_MS)
    document = stage.work(
        stage.endpoint(max_concurrent=SHARED_LIMIT), stage.dataset(trials), SHARED_LIMIT
    )
    runs = [create_run(stage.bench.owner, document) for _ in range(SHARED_RUNS)]
    expected = SHARED_RUNS * trials * SHARED_LATENCY_MS / 1000 / SHARED_LIMIT
    finish(stage, runs, expected)
    highest = stage.simulator.ledger()["peak_in_flight"]
    bars = [
        at_most("peak in flight, of all runs and workers", SHARED_LIMIT, highest),
        at_least("the limit is used", LEAST_USED, highest / SHARED_LIMIT, "%"),
        took_part(runs),
        exactly("trials lost", 0, sum(trials - run.done + run.failed for run in runs)),
    ]
    return Outcome(
        bars,
        f"{SHARED_RUNS} runs of {trials:,} trials, {SHARED_LATENCY_MS:.0f} ms, one endpoint with"
        f" {SHARED_LIMIT} slots",
    )


def equal(stage: Stage) -> Outcome:
    """The same question a thousand times at once, while nobody has its answer yet."""
    cases = stage.scaled(EQUAL_TRIALS // EQUAL_REPEATS)
    stage.provider(latency_ms=EQUAL_LATENCY_MS)
    (question,) = stage.questions(1)
    dataset = stage.store([question] * cases)
    document = stage.work(stage.endpoint(), dataset, EQUAL_SLOTS, cache="use")
    run = create_run(stage.bench.owner, {**document, "repeats": EQUAL_REPEATS})
    finish(stage, [run], EQUAL_LATENCY_MS / 1000)
    calls = stage.simulator.ledger()["total"]
    bars = [
        exactly(f"calls for {EQUAL_REPEATS} repeat indices", EQUAL_REPEATS, calls),
        took_part([run]),
        exactly("trials lost", 0, cases * EQUAL_REPEATS - run.done + run.failed),
    ]
    return Outcome(
        bars, f"{cases:,} equal cases, {EQUAL_REPEATS} repeats, {EQUAL_LATENCY_MS:.0f} ms"
    )


def finish(stage: Stage, runs: list[Run], expected_seconds: float) -> None:
    for run in runs:
        wait_until_finished(run, stage.bench, f"{stage.name}, run {run.pk}", expected_seconds)


def took_part(runs: list[Run]) -> Bar:
    """Without this a single process could have done it all, and nothing would be shown."""
    owners = Chunk.objects.filter(run__in=runs).order_by().values("owner").distinct().count()
    return at_least("worker processes that took part", PROCESSES, owners)
