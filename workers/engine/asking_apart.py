"""A plug-in that asks a model judges in a child process, while its calls are made here.

No child waits for a call: there are few, and a call may wait minutes for its slot. So a child
judges for as long as it has the replies, says what it asks next, and begins anew when those are
there. A judge must therefore ask the same whenever it is given the same.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from workers.engine.errors import CALL_ERRORS, CallError, ScorerFailed
from workers.engine.json_text import digest
from workers.engine.judgements import apart, checked, failure_of
from workers.engine.lanes import ProcessShare
from workers.engine.records import Case, Judgement, Reply, Request
from workers.engine.scorers.base import Ask, AskingScorer

MOST_ASKED = 100  # calls for one answer; a judge that asks for ever must end some day
TURNS = 10  # of the child's loop, in which calls that are made together are all found


class Heard(NamedTuple):
    """A request, with its reply or what went wrong."""

    request: Request
    reply: Reply | None
    error: str = ""  # by its name: an exception need not survive the way to the child
    message: str = ""

    def tell(self) -> Reply:
        if self.reply is not None:
            return self.reply
        kind = CALL_ERRORS.get(self.error, CallError)
        raise kind.__new__(kind, self.message)  # some take more than a message to be made


class Wanted(NamedTuple):
    requests: tuple[Request, ...]


async def judge_asking_apart(
    processes: ProcessShare, scorer: AskingScorer, answer: str, case: Case, ask: Ask
) -> Judgement:
    heard: list[Heard] = []
    while True:
        found = await apart(processes, scorer, judge_in_child, scorer, answer, case, heard)
        if isinstance(found, Judgement):
            return found
        if len(heard) + len(found.requests) > MOST_ASKED:
            raise ScorerFailed(
                f"The scorer {scorer.own_name} asked for more than {MOST_ASKED} calls for one "
                "answer. It must ask the same whenever it gets the same replies."
            )
        heard += await asyncio.gather(*(hear(ask, request) for request in found.requests))


async def hear(ask: Ask, request: Request) -> Heard:
    try:
        return Heard(request, await ask(request))
    except CallError as error:
        return Heard(request, None, error.name, str(error))


def judge_in_child(
    scorer: AskingScorer, answer: str, case: Case, heard: Sequence[Heard]
) -> Judgement | Wanted | str:
    """A judgement, or what is asked next, or why it cannot be judged."""
    try:
        return asyncio.run(judge_by_replies(scorer, answer, case, heard))
    except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001 - not our code
        return str(failure_of(scorer, error))


async def judge_by_replies(
    scorer: AskingScorer, answer: str, case: Case, heard: Sequence[Heard]
) -> Judgement | Wanted:
    known: defaultdict[str, list[Heard]] = defaultdict(list)
    for one in heard:
        known[key_of(one.request)].append(one)
    wanted: list[Request] = []
    is_missing = asyncio.Event()

    async def ask(request: Request) -> Reply:
        if replies := known[key_of(request)]:
            return replies.pop(0).tell()
        wanted.append(request)
        is_missing.set()
        never: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        return await never  # all begins anew with the reply

    judging = asyncio.ensure_future(scorer.judge_by_asking(answer, case, ask))
    missing = asyncio.create_task(is_missing.wait())
    await asyncio.wait({judging, missing}, return_when=asyncio.FIRST_COMPLETED)
    missing.cancel()
    for _ in range(TURNS):
        await asyncio.sleep(0)
    if wanted and not judging.done():
        return Wanted(tuple(wanted))
    return checked(scorer, judging.result())


def key_of(request: Request) -> str:
    """By what is asked, not by when: calls that are made together may come in another order."""
    if not isinstance(request, Request):
        raise TypeError(f"ask takes a Request, not {type(request).__name__}")
    return digest([request.endpoint, request.model, request.path, request.body, request.repeat])
