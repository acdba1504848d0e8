"""Rows 26 to 29: answers that are broken, senseless, unprintable, or far too large."""

from __future__ import annotations

import json
from http import HTTPStatus
from math import isfinite
from typing import Any

from tests.faults.stage import Act, Load, Stage
from tests.faults.visitor import Answer
from workers.simulator.demo import DEMO_PROMPTS, make_questions

LOAD = Load(trials=150, latency_ms=120, slots=4)  # healthy traffic around every retry
QUICK = Load(trials=60, latency_ms=30, slots=4)  # where nothing is retried
FIRST_FAULTY = 3  # the trials before and between the faulty ones are healthy
MOST_GROWTH_MB = 50.0
MOST_TRIES = 3  # the first, and two retries
LONG_LINE = 1_000_000

BROKEN = {
    "malformed": "malformed_answer",
    "html": "malformed_answer",
    "empty": "malformed_answer",
    "wrong_schema": "malformed_answer",
    "deep": "malformed_answer",
}
BRACKETS = "[" * 100_000
SENSELESS = (
    "I would rather not say.",
    "NaN",
    "Infinity",
    "-Infinity",
    "1e400",
    "9/10",
    "[" * 100_000,
)
UNPRINTABLE = ("\u202eevil\u202c 42", "4" * LONG_LINE)
HUGE = {"huge": "too_large", "endless": "too_large", "gzip_bomb": "malformed_answer"}


def play_on_trials(stage: Stage, orders: list[dict[str, Any]], load: Load = LOAD) -> Act:
    """One prompt on one model; each order meets one trial and no other, however often."""
    questions = [question.question for question in make_questions(load.trials)]
    of_trials = [
        {"match": {"contains": questions[FIRST_FAULTY + 2 * at]}, "times": None, **order}
        for at, order in enumerate(orders)
    ]
    prompts = [DEMO_PROMPTS[1]._asdict()]
    return stage.launch(load, prompts=prompts, orders=of_trials, is_known=False)


def faulty_rows(stage: Stage, act: Act, count: int) -> list[tuple[Any, ...]]:
    places = ", ".join(str(FIRST_FAULTY + 2 * at) for at in range(count))
    return stage.cluster.truth.rows(
        f"SELECT error_class, value, answer, attempts FROM runs_score"
        f" WHERE run_id = {act.run} AND position IN ({places}) ORDER BY position"
    )


def check_others(stage: Stage, act: Act, faulty: int) -> None:
    """Nothing else is disturbed: every other trial has a value."""
    valued = stage.cluster.truth.count("runs_score", f"run_id = {act.run} AND value IS NOT NULL")
    stage.verdict.at_least("healthy_trials", valued, act.load.trials - faulty)


def expect_classes(stage: Stage, act: Act, orders: dict[str, str]) -> None:
    found = faulty_rows(stage, act, len(orders))
    for (fault, wanted), (error, value, _, attempts) in zip(orders.items(), found, strict=True):
        tries = len(json.loads(attempts) if isinstance(attempts, str) else attempts)
        stage.verdict.expect(error == wanted, f"{fault} became {error!r}, not {wanted!r}")
        stage.verdict.expect(value is None, f"{fault} became a score of {value}")
        stage.verdict.expect(tries <= MOST_TRIES, f"{fault} was tried {tries} times")
    check_others(stage, act, len(orders))
    act.check(same_table=False, state=("completed_with_errors",), cut_faults=tuple(HUGE))


def broken_answers(stage: Stage) -> None:
    """Row 26: broken JSON, an HTML page, nothing, another shape, 100,000 nested brackets."""
    act = play_on_trials(stage, [{"do": fault, "status": 200} for fault in BROKEN])
    act.finish(90)
    expect_classes(stage, act, BROKEN)


def senseless_answers(stage: Stage) -> None:
    """Row 27: prose, NaN, Infinity, 1e400, 9/10 and brackets where a number is expected."""
    orders = [{"do": "answer", "answer": text} for text in SENSELESS]
    act = play_on_trials(stage, orders, stage.load(QUICK, LOAD))
    act.finish(60)
    for _, value, answer, _ in faulty_rows(stage, act, len(SENSELESS)):
        stage.verdict.expect(value is None or isfinite(value), f"{answer[:20]} became {value}")
    odd = stage.cluster.truth.count(
        "runs_score", f"run_id = {act.run} AND (value > 1 OR value < 0)"
    )
    stage.verdict.figure("values_out_of_range", odd, most=0)
    live = stage.cluster.visitor.load(f"/api/v1/runs/{act.run}/live")
    stage.verdict.expect(is_strict_json(live), f"what pages poll is no JSON: {live.body[:200]!r}")
    act.check(same_table=False, state=("completed", "completed_with_errors"))


def is_strict_json(answer: Answer) -> bool:
    """As a browser reads it: NaN and Infinity are no numbers there."""
    unreadable: list[str] = []
    json.loads(answer.body, parse_constant=unreadable.append)
    return answer.status == HTTPStatus.OK and not unreadable


def unprintable_answers(stage: Stage) -> None:
    """Row 28: NUL, half a surrogate pair, text that runs backwards, a line of a million digits."""
    orders: list[dict[str, Any]] = [{"do": "nul"}, {"do": "surrogate"}]
    orders += [{"do": "answer", "answer": text} for text in UNPRINTABLE]
    act = play_on_trials(stage, orders, stage.load(QUICK, LOAD))
    act.finish(60)
    for _, _, answer, _ in faulty_rows(stage, act, len(orders)):
        stage.verdict.expect("\x00" not in answer, "a NUL was stored")
        answer.encode()  # raises if half a surrogate pair was stored
    check_others(stage, act, 0)
    act.check(same_table=False)


def huge_answers(stage: Stage) -> None:
    """Row 29: 300 MB, an endless answer, and 300 MB packed into a few kilobytes."""
    stage.cluster.quiet()
    before = [worker.forget_peak() for worker in stage.cluster.workers]
    act = play_on_trials(stage, [{"do": fault} for fault in HUGE])
    act.finish(120)
    after = [worker.peak_memory_mb() for worker in stage.cluster.workers]
    growth = max(late - early for early, late in zip(before, after, strict=True))
    stage.verdict.figure("growth_mb", growth, most=MOST_GROWTH_MB)
    expect_classes(stage, act, HUGE)
