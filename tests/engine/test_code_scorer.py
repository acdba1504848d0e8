"""Scorers that people write: what they may give, and what they must not be able to do."""

import os
from contextlib import contextmanager
from typing import Any

import pytest

from tests import odd_scorers
from tests.engine.running import case, quick, run_document, table_of
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import table
from workers.engine import sandbox
from workers.engine.errors import ScorerFailed
from workers.engine.judgements import LOOP_STEPS, judge_apart, judge_if_quick
from workers.engine.plugins import PLUGINS
from workers.engine.records import Case, Facts, Judgement
from workers.engine.scorers import SCORERS, problem_with_scorer


@contextmanager
def limit(seconds):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "SECONDS", seconds)
        yield


@pytest.fixture(autouse=True, scope="module")
def patient():
    """The second of an answer is also over when the machine stands still."""
    with limit(PATIENCE_SECONDS), pytest.MonkeyPatch.context() as patch:
        patch.setitem(sandbox.PROCESSES, "request_timeout", PATIENCE_SECONDS)
        sandbox.pool.cache_clear()
        yield
    sandbox.pool.cache_clear()


def judge(body, answer="4"):
    return quick("code", {"source": function(body)}).judge(answer, case("4", question="2 + 2"))


def function(body):
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"def score(answer, expected, case):\n{lines}\n"


@table(
    ("return answer == expected", (1.0, True, "score gave True")),
    ("return False", (0.0, False, "score gave False")),
    ("return 0.25", (0.25, False, "score gave 0.25")),
    ("return 1", (1.0, True, "score gave 1")),
    ("return None", (None, None, "score gave None")),
    ("return {'value': None, 'reason': 'empty'}", (None, None, "empty")),
    ("return {'value': 0.75, 'reason': case['question']}", (0.75, True, "2 + 2")),
    ("return {'value': 0.75, 'passed': False}", (0.75, False, "")),
    ("import json, re, math\nreturn math.floor(1.5)", (1.0, True, "score gave 1")),
)
def test_a_function_gives_a_verdict(body, verdict):
    found = judge(body)
    assert (found.value, found.passed, found.reason) == verdict


@table(
    ("return 1.5", "gave '1.5'. It must give a number from 0 to 1"),
    ("return -1", "gave '-1'"),
    ("return float('nan')", "gave 'nan'"),
    ("return 'good'", "gave 'good'"),
    ("return {'score': 1}", "gave the keys 'score'. Known are value, passed, reason, label"),
    ("return {'value': 'high'}", "gave 'high'"),
    ("return score", "It must give a number"),
    ("raise ValueError('no digit')", "ValueError: no digit (line 2)"),
    ("return 1 / 0", "ZeroDivisionError"),
    ("raise SystemExit(3)", "could not judge"),
    ("raise KeyboardInterrupt()", "could not judge"),
    ("x = []\nfor i in range(100000): x = [x]\nreturn x", "gave a list"),
)
def test_anything_else_is_an_error_and_never_a_score(body, told):
    with pytest.raises(ScorerFailed) as failure:
        judge(body)
    assert told in str(failure.value)
    assert len(str(failure.value)) < 500


ESCAPES = {
    "a file is read": "return len(open('/etc/passwd').read()) > 0",
    "a file is written": "open('/tmp/escaped', 'w').write('x')\nreturn True",
    "a path is read": "from pathlib import Path\nPath('/etc/hostname').read_text()\nreturn True",
    "a folder is listed": "import os\nos.listdir('/')\nreturn True",
    "the environment is read": "import os\nreturn len(os.environ) > 0",
    "a command is run": "import subprocess\nsubprocess.run(['true'])\nreturn True",
    "the shell is asked": "import os\nos.system('true')\nreturn True",
    "a connection is made": "import socket\nsocket.socket()\nreturn True",
    "a page is fetched": "import urllib.request\nreturn True",
    "a library is loaded": "import ctypes\nreturn True",
    "our own code is imported": "import workers.engine.errors\nreturn True",
    "importlib is imported": "import importlib\nreturn True",
    "by subclasses": "return len(().__class__.__base__.__subclasses__()) > 0",
    "by globals": "return len(score.__globals__) > 0",
    "by builtins": "return __builtins__ is not None",
    "by __import__": "__import__('os').system('true')\nreturn True",
    "by code objects": "score.__code__ = None\nreturn True",
    "by frames": "import sys\nsys._getframe()\nreturn True",
    "by format": "return len('{0.__class__.__init__.__globals__}'.format(score)) > 0",
    "by compile": "compile('1', 'x', 'eval')\nreturn True",
    "by eval": "return eval('open(\"/etc/passwd\").read()') != ''",
    "by exec": "exec('import subprocess')\nreturn True",
    "by input": "return input() == ''",
    "by pickle": "import pickle\nreturn True",
    "by gc": "import gc\nreturn len(gc.get_objects()) > 0",
    "by fork": "import os\nos.fork()\nreturn True",
    "a signal is sent": "import os, signal\nos.kill(1, 0)\nreturn True",
    "it never ends": "while True: pass",
    "it prints for ever": "while True: print('x' * 1000)",
    "it recurses": "return score(answer, expected, case)",
    "a long text": "return len('a' * 10**10)",
    "a long list": "return len([0] * 10**9)",
    "it hoards": "kept = []\nwhile True: kept.append('a' * 1000)",
    "a huge number": "return 10 ** 10 ** 8 > 0",
    "numbers that grow": "x = 3\nfor i in range(40): x = x * x\nreturn x > 0",
    "a huge answer": "return {'value': 1, 'reason': 'a' * 20_000_000}",
}

ENDLESS = {"it never ends", "it prints for ever", "numbers that grow"}


@table(*ESCAPES)
def test_no_way_leads_out_of_the_sandbox(way):
    with limit(0.1 if way in ENDLESS else PATIENCE_SECONDS), pytest.raises(ScorerFailed):
        judge(ESCAPES[way])
    assert judge("return True").value == 1.0  # and the next answer is judged as ever


def test_every_answer_is_judged_as_if_it_were_the_first():
    counts = "global seen\nseen = seen + 1\nreturn seen == 1"
    scorer = quick("code", {"source": "seen = 0\n" + function(counts)})
    assert [scorer.judge("4", case("4")).value for _ in range(3)] == [1.0, 1.0, 1.0]
    body = "import random, time\nreturn {'value': 1, 'reason': f'{random.random()} {time.time()}'}"
    assert judge(body) == judge(body)  # clock and chance stand still
    assert judge("import time\ntime.sleep(3600)\nreturn True").value == 1.0  # and takes no time


@table(
    ("def score(answer, expected, case): return 1", ""),
    ("x = 1", "It has no function score. Write `def score(answer, expected, case): …`."),
    ("def score(:", "It cannot be loaded"),
    ("import subprocess", "No module named 'subprocess'"),
    ("while True: pass", "It took longer than 0.1 s."),
    ("(" * 5000, "It cannot be loaded"),
)
def test_what_cannot_be_loaded_is_refused_before_the_run(source, told):
    with limit(0.1 if "longer" in told else PATIENCE_SECONDS):
        found = problem_with_scorer("code", {"source": source})
    assert told in found
    assert bool(found) == bool(told)


async def test_a_run_is_judged_by_it_in_other_processes(simulator, document, cases):
    fails = "return answer == expected if len(answer) < 3 else 1 / 0"
    mine = {**document, "scorers": [{"code": {"source": function(fails)}}]}
    cases = cases[:5]
    at_once = await run_document(mine, cases, simulator.url)
    one_by_one = {**mine, "limits": {"schedule": "sequential"}}
    assert table_of(at_once) == table_of(await run_document(one_by_one, cases, simulator.url))
    assert {score.error for score in at_once} <= {"", "scorer_error"}
    assert all(score.value is None for score in at_once if score.error)
    assert any(score.value == 1.0 for score in at_once)


PACKAGE = odd_scorers.__name__


@pytest.fixture
def installed():
    odd_scorers.register()
    yield
    PLUGINS.clear()


@pytest.mark.late  # it starts many processes, two of which hang
@pytest.mark.usefixtures("installed")
async def test_whatever_a_plug_in_does_a_trial_fails_and_keeps_its_answer(simulator, plain, cases):
    scores = []
    for scorer in (odd_scorers.NeverEnds, odd_scorers.Misbehaves):
        mixed = {**plain, "scorers": [f"{PACKAGE}.{scorer.__name__}", "numeric"]}
        scores += await run_document(mixed, cases[: len(scorer.ways)], simulator.url)
    ways = [*odd_scorers.ENDLESS, *odd_scorers.WAYS]
    for score, (_, told) in zip(scores, ways, strict=True):
        assert score.error == ("scorer_error" if told else ""), score
        assert told in score.message
        assert len(score.message) <= 500
        assert score.answer
        assert (score.unjudged is not None) == bool(told)
        assert score.judging is None  # no model was asked
    silent, bounded, fine = (score.judgements[0] for score in scores[-3:])
    assert silent == ("odd", None, None, "nothing to say", "", "", ())
    assert scores[-3].value == scores[-3].judgements[1].value  # the other scorer's alone
    assert bounded == ("odd" * 33 + "…", 1.0, True, "no\ufffd?" + "x" * 495 + "…", "", "", ())
    assert fine == ("odd", 1.0, True, "fine", "", "", ())


@pytest.mark.late
@pytest.mark.usefixtures("installed")
async def test_what_was_paid_is_judged_after_the_budget_is_used_up(simulator, plain, cases):
    """However long that takes: the scorer hangs until it is ended."""
    document = {**plain, "scorers": [f"{PACKAGE}.Hangs"], "budget": {"calls": 1}}
    (score,) = await run_document(document, cases[:3], simulator.url)
    assert (score.error, bool(score.answer)) == ("scorer_error", True)


ASKING = ("Asks", "AsksAndHangs")


@pytest.mark.late  # and so does this one: one hangs
@pytest.mark.usefixtures("installed")
async def test_a_plug_in_that_asks_is_not_on_the_loop_either(simulator, plain, cases):
    said = {"first a": "A", "first b": "B", "second A": "again A", "second B": "again B"}
    simulator.play(
        *({"match": {"contains": text}, "do": "answer", "answer": said[text]} for text in said),
        {"match": {"contains": "fails"}, "do": "status", "status": 400},
    )
    model = {"model": "simulated/sim-large"}
    asks, hanging = ({**plain, "scorers": [{f"{PACKAGE}.{name}": model}]} for name in ASKING)
    good, never_ends, astray = await run_document(asks, cases[:3], simulator.url)
    (hangs,) = await run_document(hanging, cases[:1], simulator.url)
    told, _, process = good.judgements[0].reason.rpartition(" ")
    assert told == "again A again B refused"
    assert int(process) != os.getpid()
    assert good.judging.sent == 5  # each once, though it began anew for every round of calls
    assert "took longer than the 0.5 s" in hangs.message
    assert "asked for more than 100 calls for one answer" in never_ends.message
    assert never_ends.judging.sent == 100
    assert "asks the endpoint 'nowhere', which none of its options names." in astray.message


@table(
    ("exact", {}, "5", 1),
    ("contains", {}, "5", 1),
    ("contains", {"separator": "|"}, "5|6|7|8", 4),
    ("numeric", {}, "5", 20),
    ("regex", {"pattern": r"\d+"}, "5", 6),
    ("regex", {"pattern": r"(?m)^Result: (\d+)$"}, "5", 19),
    ("regex", {"pattern_field": "rule"}, "5", 2005),
)
def test_ours_are_judged_at_once_unless_that_may_take_long(name, options, expected, steps):
    """Steps are counted, not time: one takes at most some 20 ns."""
    scorer = quick(name, options)
    the_case = Case(0, {"expected": expected, "rule": "(?:a?){1000}X"})
    short, long = "a" * (LOOP_STEPS // steps), "a" * (LOOP_STEPS // steps + 1)
    assert scorer.steps(short, the_case) == steps * len(short) <= LOOP_STEPS
    assert judge_if_quick(scorer, short, the_case, Facts()) == scorer.judge(short, the_case)
    assert judge_if_quick(scorer, long, the_case, Facts()) is None


@pytest.mark.late
@pytest.mark.usefixtures("installed")
async def test_what_is_long_is_judged_the_same_in_another_process(simulator, plain, cases, lane):
    long = "a" * 1000 + "X" + " So it is 1, or 2, or 3." * 1000
    simulator.play({"times": None, "do": "answer", "answer": long})
    scorers: list[Any] = ["numeric", "exact", {"regex": {"pattern": "(?:a?){1000}X"}}]
    the_case = Case(0, {**cases[0].fields, "expected": "3"})
    (score,) = await run_document({**plain, "scorers": scorers}, [the_case], simulator.url)
    assert [one.passed for one in score.judgements] == [True, False, True]
    apart = [
        await judge_apart(lane.share(""), quick(*SCORERS.read(one)), long, the_case, Facts())
        for one in scorers
    ]
    dear = quick(f"{PACKAGE}.Dear", {"not": True, "as": "cheap"})
    said = await judge_apart(lane.share(""), dear, "5", Case(0, {}), Facts(12.5, 0.5))
    assert len(lane.pids) == 1
    assert apart == list(score.judgements)
    assert said == Judgement("cheap", 0.0, False, "not: 12.5 ms, $0.5")
