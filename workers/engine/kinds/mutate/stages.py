"""The four stages of a step: encode a query, rewrite it, ask the target, judge its answer. Each may
fail, and says in which role."""

from collections.abc import Awaitable
from dataclasses import replace
from random import Random
from typing import TypeVar

from workers.engine.asking_apart import judge_asking_apart
from workers.engine.calling.embeddings import embedding_request, read_vector
from workers.engine.errors import CallError, ScorerFailed
from workers.engine.judgements import checked, failure_of, judge_apart, judge_if_quick
from workers.engine.kinds.mutate.observing import Observation, fit, hash_words
from workers.engine.kinds.mutate.operators import LocalOperator, WritingOperator
from workers.engine.kinds.mutate.rewriting import messages_for, read_rewritten
from workers.engine.kinds.mutate.rules import Rules
from workers.engine.lanes import ProcessShare
from workers.engine.records import JUDGE, Case, Facts, Judgement, Reply, Request
from workers.engine.scorers import AnyScorer, AskingScorer, Scorer, is_ours
from workers.engine.targets import Ask
from workers.engine.targets.chat import chat_request
from workers.engine.verdicts import verdict_of

MUTATOR, TARGET, EMBEDDER = "mutator", "target", "embedder"
ROLES = (MUTATOR, TARGET, JUDGE, EMBEDDER)
Result = TypeVar("Result")


class StageFailed(Exception):
    """A call of one role failed. What was to become of it is unknown, and no reward."""

    def __init__(self, role: str, error: CallError) -> None:
        super().__init__(f"{role}: {error}")
        self.role = role
        self.error = error


class Stages:
    """`ask` is that of a trial, or of `Models` in a notebook."""

    def __init__(
        self, rules: Rules, ask: Ask, processes: ProcessShare, candidate: str = ""
    ) -> None:
        self._rules = rules
        self._ask = ask
        self._processes = processes
        self._candidate = candidate

    async def encode(self, query: str) -> Observation:
        model, size = self._rules.embedder, self._rules.observation_size
        if model is None:
            return hash_words(query, size)
        request = replace(embedding_request(model, query), candidate=self._candidate, step=EMBEDDER)
        reply = await in_role(EMBEDDER, self._ask(request))
        return fit(await in_role(EMBEDDER, vector_in(reply)), size)

    async def rewrite(self, action: int, query: str) -> str:
        operator = self._rules.operators[action]
        if isinstance(operator, LocalOperator):
            seed = f"{self._rules.seed} {self._rules.names[action]} {query}"
            return operator.rewrite(query, Random(seed))
        assert isinstance(operator, WritingOperator)  # there are no others
        assert self._rules.mutator is not None  # the schema asks for it
        model = self._rules.mutator.model_dump()
        messages = messages_for(operator.task, query)
        request = chat_request(model, messages, 0, self._candidate, MUTATOR)
        return await in_role(MUTATOR, self._rewritten(request))

    async def answer(self, query: str) -> str:
        messages = [{"role": "user", "content": query}]
        if self._rules.system:
            messages.insert(0, {"role": "system", "content": self._rules.system})
        model = self._rules.target.model_dump()
        request = chat_request(model, messages, 0, self._candidate, TARGET)
        return (await in_role(TARGET, self._ask(request))).text

    async def judge(self, answer: str, case: Case) -> float:
        return await in_role(JUDGE, self._value(answer, case))

    async def _rewritten(self, request: Request) -> str:
        return read_rewritten((await self._ask(request)).text)

    async def _value(self, answer: str, case: Case) -> float:
        judgements = [await self._hear(one, answer, case) for one in self._rules.scorers]
        return verdict_of(judgements, self._rules.combination).value

    async def _hear(self, scorer: AnyScorer, answer: str, case: Case) -> Judgement:
        try:
            return await self._heard(scorer, answer, case)
        except CallError as error:
            raise failure_of(scorer, error) from None

    async def _heard(self, scorer: AnyScorer, answer: str, case: Case) -> Judgement:
        if isinstance(scorer, Scorer):
            facts = Facts()
            quick = judge_if_quick(scorer, answer, case, facts) if is_ours(scorer) else None
            return quick or await judge_apart(self._processes, scorer, answer, case, facts)
        if not isinstance(scorer, AskingScorer):
            raise ScorerFailed(f"The scorer {scorer.own_name} cannot judge inside a segment.")
        if not is_ours(scorer):
            return await judge_asking_apart(
                self._processes, scorer, answer, case, self._ask_as_judge
            )
        return checked(scorer, await scorer.judge_by_asking(answer, case, self._ask_as_judge))

    async def _ask_as_judge(self, request: Request) -> Reply:
        return await self._ask(replace(request, candidate=self._candidate, step=JUDGE, role=JUDGE))


async def vector_in(reply: Reply) -> list[float]:
    return list(read_vector(reply.text))


async def in_role(role: str, work: Awaitable[Result]) -> Result:
    try:
        return await work
    except CallError as error:
        raise StageFailed(role, error) from None
