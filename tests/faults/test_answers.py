"""Answers that are broken, senseless, unprintable, or far too large."""

import json
from http import HTTPStatus
from math import isfinite

import pytest

from tests.faults.stage import Load
from tests.harness.processes import forget_peak_memory, memory_mb
from workers.simulator.demo import DEMO_PROMPTS, make_questions

LOAD = Load(trials=150, latency_ms=120, slots=4)  # healthy traffic around every retry
QUICK = Load(trials=60, latency_ms=30, slots=4)  # where nothing is retried
FIRST_FAULTY = 3  # the trials before and between the faulty ones are healthy
MOST_GROWTH_MB = 50.0
MOST_TRIES = 3  # the first, and two retries
BRACKETS = "[" * 100_000
BROKEN = dict.fromkeys(("malformed", "html", "empty", "wrong_schema", "deep"), "malformed_answer")
SENSELESS = ("I would rather not say.", "NaN", "Infinity", "-Infinity", "1e400", "9/10", BRACKETS)
UNPRINTABLE = ("\u202eevil\u202c 42", "4" * 1_000_000)
HUGE = {"huge": "too_large", "endless": "too_large", "gzip_bomb": "malformed_answer"}


def play_on_trials(stage, orders, seconds, short=LOAD):
    """To the end. One prompt on one model; each order meets one trial, however often, and no
    other."""
    load = LOAD if stage.is_full else short
    questions = [question.question for question in make_questions(load.trials)]
    of_trials = [
        {"match": {"contains": questions[FIRST_FAULTY + 2 * at]}, "times": None, **order}
        for at, order in enumerate(orders)
    ]
    prompts = [DEMO_PROMPTS[1]._asdict()]
    act = stage.launch(load, None, prompts=prompts, orders=of_trials, is_known=False)
    act.finish(seconds)
    return act


def faulty_rows(act, count):
    places = ", ".join(str(FIRST_FAULTY + 2 * at) for at in range(count))
    return act.site.database.rows(
        f"SELECT error_class, value, answer, attempts FROM runs_score"
        f" WHERE run_id = {act.run} AND position IN ({places}) ORDER BY position"
    )


def check_others(act, faulty):
    """Nothing else is disturbed: every other trial has a value."""
    healthy = act.scores("value IS NOT NULL")
    act.stage.figure("healthy_trials", healthy, least=act.load.trials - faulty)


def expect_classes(act, orders):
    found, expect = faulty_rows(act, len(orders)), act.stage.expect
    for (fault, wanted), (error, value, _, attempts) in zip(orders.items(), found, strict=True):
        tries = len(json.loads(attempts) if isinstance(attempts, str) else attempts)
        expect(error == wanted, f"{fault} became {error!r}, not {wanted!r}")
        expect(value is None, f"{fault} became a score of {value}")
        expect(tries <= MOST_TRIES, f"{fault} was tried {tries} times")
    check_others(act, len(orders))
    act.check(same_table=False, state=("completed_with_errors",), cut_faults=tuple(HUGE))


@pytest.mark.row(
    "26",
    "broken JSON, HTML as an answer, empty, wrong shape, 100,000 brackets",
    "right class, never a score, at most 2 retries",
    is_short=True,
)
def test_broken_answers(stage):
    act = play_on_trials(stage, [{"do": fault, "status": 200} for fault in BROKEN], 90)
    expect_classes(act, BROKEN)


@pytest.mark.row(
    "27",
    "prose, NaN, Infinity, 1e400, 9/10, brackets as the answer",
    "0 non-finite values",
    is_short=True,
)
def test_senseless_answers(stage):
    """Where a number is expected."""
    orders = [{"do": "answer", "answer": text} for text in SENSELESS]
    act = play_on_trials(stage, orders, 60, QUICK)
    for _, value, answer, _ in faulty_rows(act, len(SENSELESS)):
        stage.expect(value is None or isfinite(value), f"{answer[:20]} became {value}")
    stage.figure("values_out_of_range", act.scores("value > 1 OR value < 0"), most=0)
    live = stage.site.visitor.load(f"/api/v1/runs/{act.run}/live")
    stage.expect(is_strict_json(live), f"what pages poll is no JSON: {live.body[:200]!r}")
    act.check(same_table=False, state=("completed", "completed_with_errors"))


def is_strict_json(answer):
    """As a browser reads it: NaN and Infinity are no numbers there."""
    unreadable: list[str] = []
    json.loads(answer.body, parse_constant=unreadable.append)
    return answer.status == HTTPStatus.OK and not unreadable


@pytest.mark.row(
    "28",
    "NUL, half a surrogate pair, bidi, a line of 1,000,000 characters",
    "0 lost trials",
    is_short=True,
)
def test_unprintable_answers(stage):
    orders = [{"do": "nul"}, {"do": "surrogate"}]
    orders += [{"do": "answer", "answer": text} for text in UNPRINTABLE]
    act = play_on_trials(stage, orders, 60, QUICK)
    for _, _, answer, _ in faulty_rows(act, len(orders)):
        stage.expect("\x00" not in answer, "a NUL was stored")
        answer.encode()  # raises if half a surrogate pair was stored
    check_others(act, 0)
    act.check(same_table=False)


@pytest.mark.row(
    "29", "300 MB, an endless answer, a gzip bomb", "memory grows by at most 50 MB", is_short=True
)
def test_huge_answers(stage):
    """The bomb is 300 MB packed into a few kilobytes."""
    stage.quiet()
    workers = [worker.pid for worker in stage.site.workers]
    before = list(map(forget_peak_memory, workers))
    act = play_on_trials(stage, [{"do": fault} for fault in HUGE], 120)
    after = [memory_mb(pid, "VmHWM") for pid in workers]
    growth = max(late - early for early, late in zip(before, after, strict=True))
    stage.figure("growth_mb", growth, most=MOST_GROWTH_MB)
    expect_classes(act, HUGE)
