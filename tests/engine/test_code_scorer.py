"""Scorers that people write: what they may give, and everything they must not be able to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.engine.running import run_document, table_of
from tests.engine.scoring import case, quick
from tests.harness.patience import PATIENCE_SECONDS
from workers.engine import sandbox
from workers.engine.errors import ScorerFailed
from workers.engine.records import Case, Judgement
from workers.engine.sandbox import SECONDS
from workers.engine.scorers import problem_with_scorer
from workers.simulator.testing import SimulatorClient


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "SECONDS", seconds)
        yield


@pytest.fixture(autouse=True)
def patient() -> Iterator[None]:
    """The second of an answer is also over when the machine stands still."""
    with limit(PATIENCE_SECONDS):
        yield


def judge(body: str, answer: str = "4") -> Judgement:
    scorer = quick("code", {"source": function(body)})
    found: Judgement = scorer.judge(answer, case("4", question="2 + 2"))
    return found


def function(body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"def score(answer, expected, case):\n{lines}\n"


GIVEN = {
    "return answer == expected": (1.0, True, "score gave True"),
    "return False": (0.0, False, "score gave False"),
    "return 0.25": (0.25, False, "score gave 0.25"),
    "return 1": (1.0, True, "score gave 1"),
    "return None": (None, None, "score gave None"),
    "return {'value': None, 'reason': 'empty'}": (None, None, "empty"),
    "return {'value': 0.75, 'reason': case['question']}": (0.75, True, "2 + 2"),
    "return {'value': 0.75, 'passed': False}": (0.75, False, ""),
    "import json, re, math\nreturn float(bool(re.search('[0-9]', answer)))": (
        1.0,
        True,
        "score gave 1.0",
    ),
}


@pytest.mark.parametrize("body", GIVEN)
def test_a_function_gives_a_verdict(body: str) -> None:
    found = judge(body)
    assert (found.value, found.passed, found.reason) == GIVEN[body]


NO_VERDICTS = {
    "return 1.5": "gave '1.5'. It must give a number from 0 to 1",
    "return -1": "gave '-1'",
    "return float('nan')": "gave 'nan'",
    "return 'good'": "gave 'good'",
    "return {'score': 1}": "gave the keys 'score'. Known are value, passed, reason, label",
    "return {'value': 'high'}": "gave 'high'",
    "return score": "It must give a number",
    "raise ValueError('no digit')": "ValueError: no digit (line 2)",
    "return 1 / 0": "ZeroDivisionError",
    "raise SystemExit(3)": "could not judge",
    "raise KeyboardInterrupt()": "could not judge",
    "x = []\nfor i in range(100000): x = [x]\nreturn x": "gave a list",
}


@pytest.mark.parametrize("body", NO_VERDICTS)
def test_anything_else_is_an_error_and_never_a_score(body: str) -> None:
    with pytest.raises(ScorerFailed) as failure:
        judge(body)
    assert NO_VERDICTS[body] in str(failure.value)
    assert len(str(failure.value)) < 500


ESCAPES = {
    "a file is read": "return len(open('/etc/passwd').read()) > 0",
    "a file is written": "open('/tmp/escaped', 'w').write('x')\nreturn True",
    "a path is read": "from pathlib import Path\nPath('/etc/hostname').read_text()\nreturn True",
    "a folder is listed": "import os\nos.listdir('/')\nreturn True",
    "the environment is read": "import os\nreturn len(os.environ) > 0",
    "one variable is read": "import os\nreturn len(os.getenv('PATH')) > 0",
    "a command is run": "import subprocess\nsubprocess.run(['true'])\nreturn True",
    "the shell is asked": "import os\nos.system('true')\nreturn True",
    "a connection is made": "import socket\nsocket.socket()\nreturn True",
    "a page is fetched": "import urllib.request\nreturn True",
    "a library is loaded": "import ctypes\nreturn True",
    "our own code is imported": "import workers.engine.errors\nreturn True",
    "Django is imported": "import django\nreturn True",
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


@pytest.mark.parametrize("way", ESCAPES)
def test_no_way_leads_out_of_the_sandbox(way: str) -> None:
    with limit(SECONDS), pytest.raises(ScorerFailed):
        judge(ESCAPES[way])
    assert judge("return True").value == 1.0  # and the next answer is judged as ever


def test_nothing_is_left_for_the_next_answer() -> None:
    counts = "global seen\nseen = seen + 1\nreturn seen == 1"
    scorer = quick("code", {"source": "seen = 0\n" + function(counts)})
    assert [scorer.judge("4", case("4")).value for _ in range(3)] == [1.0, 1.0, 1.0]


def test_clock_and_chance_stand_still() -> None:
    body = "import random, time\nreturn {'value': 1, 'reason': f'{random.random()} {time.time()}'}"
    assert judge(body) == judge(body)


def test_sleeping_takes_no_time_of_the_worker() -> None:
    assert judge("import time\ntime.sleep(3600)\nreturn True").value == 1.0


PROBLEMS = {
    "def score(answer, expected, case): return 1": "",
    "x = 1": "It has no function score. Write `def score(answer, expected, case): …`.",
    "def score(:": "It cannot be loaded",
    "import subprocess": "No module named 'subprocess'",
    "while True: pass": "It took longer than 1 s.",
    "(" * 5000: "It cannot be loaded",
}


@pytest.mark.parametrize("source", PROBLEMS)
def test_what_cannot_be_loaded_is_refused_before_the_run(source: str) -> None:
    with limit(SECONDS if "longer" in PROBLEMS[source] else PATIENCE_SECONDS):
        found = problem_with_scorer("code", {"source": source})
    assert PROBLEMS[source] in found
    assert bool(found) == bool(PROBLEMS[source])


async def test_a_run_is_judged_by_it_in_other_processes(
    simulator: SimulatorClient, document: dict[str, Any], cases: list[Case]
) -> None:
    fails = "return answer == expected if len(answer) < 3 else 1 / 0"
    mine = {**document, "scorers": [{"code": {"source": function(fails)}}]}
    at_once = await run_document(mine, cases, simulator.url)
    one_by_one = {**mine, "limits": {"schedule": "sequential"}}
    assert table_of(at_once) == table_of(await run_document(one_by_one, cases, simulator.url))
    assert {score.error for score in at_once} <= {"", "scorer_error"}
    assert all(score.value is None for score in at_once if score.error)
    assert any(score.value == 1.0 for score in at_once)
