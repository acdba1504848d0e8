"""What many tests of the engine use: runs in this process, and a clock moved by hand."""

import asyncio

from workers.engine.here import run_here
from workers.engine.http import Client
from workers.engine.kinds import read_configuration
from workers.engine.providers import PROVIDERS
from workers.engine.records import Case
from workers.engine.scorers import Scorer, build_scorer

SMALL = "simulated/sim-small"
KEY = "sk-canary-0123456789abcdef"
# Of the address, by the kind of a provider: where its calls go.
SUFFIX = {"openai": "/v1", "azure": "", "anthropic": "/v1", "ollama": "", "simulated": "/v1"}


async def run_document(document, cases, url, cache=None, prices=None, **more):
    """`more` is what else `run_here` takes."""
    async with Client() as client:
        providers = {"simulated": PROVIDERS["simulated"](client, "simulated", f"{url}/v1")}
        made = read_configuration(document)
        return await run_here(made, cases, providers, cache=cache, prices=prices, **more)


def evaluation(*scorers, **more):
    """One prompt and one model."""
    asked = {"prompts": [{"name": "plain", "user": "{{question}}"}], "models": [SMALL]}
    document = {"name": "one", "kind": "evaluate", "dataset": "sums", **asked}
    return {**document, "scorers": list(scorers), **more}


def table_of(scores):
    """The results table: what must be equal however the run was executed."""
    return [(score.trial, score.value, score.passed, score.error, score.answer) for score in scores]


def case(expected=None, **fields):
    if expected is not None:
        fields["expected"] = expected
    return Case(position=3, fields=fields)


def quick(name, options):
    """One that judges at once; those that ask are in test_judges.py."""
    scorer = build_scorer(name, options)
    assert isinstance(scorer, Scorer)
    return scorer


def value(name, options, answer, the_case):
    judgement = quick(name, options).judge(answer, the_case)
    assert (judgement.name, judgement.passed) == (name, judgement.value == 1.0)
    return judgement.value


def known(found):
    """What there is: nothing is no answer here."""
    assert found is not None
    return found


class FakeClock:
    """`sleep` returns at once and moves the time, so that nothing in a test waits."""

    def __init__(self):
        self.now = 1000.0
        self.slept = []

    def monotonic(self):
        return self.now

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)  # a turn of the loop, as any sleep gives
