"""Scores (prompt, query, response) triples, and finds how fit each of several system prompts is:
for notebooks and scripts, through the throttle and the cache of `Models`.

Results are in the order of what was given. What failed is None, never a zero, and its error is
kept beside the others.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from workers.engine.errors import CallError, NotScored, ScorerFailed
from workers.engine.judgements import checked, failure_of
from workers.engine.kept import Kept, keep_all
from workers.engine.models_here import Models
from workers.engine.parallel import CandidateResponse
from workers.engine.records import Case, Judgement
from workers.engine.scorers import SCORERS, AskingScorer, build_scorer
from workers.engine.spec.model_choice import ModelChoice
from workers.engine.targets.chat import chat_request

Text = str | None
Triple = Sequence[Text]
"""Prompt, query and response, and perhaps the expected answer. A response of None has failed."""


class Fitness(NamedTuple):
    """How well a system prompt did on a set of queries. `mean` is that of the answers with a score;
    None: there is none."""

    prompt_index: int
    system_prompt: str
    mean: float | None
    scores: Kept[float]  # by query
    responses: Kept[CandidateResponse]

    @property
    def failed(self) -> int:
        return sum(score is None for score in self.scores)


class Critic:
    """A scorer that asks a model, as a configuration writes it."""

    def __init__(self, models: Models, scorer: str | Mapping[str, Any]) -> None:
        entry = SCORERS.parse(scorer)
        built = build_scorer(entry.name, entry.options)
        if not isinstance(built, AskingScorer):
            asking = [name for name, one in SCORERS.items() if one.asks]
            told = f"The scorer {entry.name} asks no model."
            raise ValueError(f"{told} Choose one of: {', '.join(asking)}.")
        self._models = models
        self._scorer = built

    def judge(self, prompt: Text, query: Text, response: Text, expected: Text = None) -> Judgement:
        """With reason and label. Raises the CallError of what failed."""
        return self._models.run(self._judge(prompt, query, response, expected))

    def score(self, prompt: Text, query: Text, response: Text, expected: Text = None) -> float:
        return self._models.run(self._score(prompt, query, response, expected))

    def score_batch(self, items: Iterable[Triple]) -> Kept[float]:
        """One after the other."""
        return self.score_batch_parallel(items, max_workers=1)

    def score_batch_parallel(
        self, items: Iterable[Triple], max_workers: int | None = None
    ) -> Kept[float]:
        """As many at once as the models allow, or `max_workers`."""
        return self._models.run(self.score_all(items, max_workers))

    async def score_all(self, items: Iterable[Triple], at_once: int | None = None) -> Kept[float]:
        """On the loop of the models."""
        return await keep_all(lambda triple: self._score(*triple), items, at_once)

    async def _score(self, *triple: Text) -> float:
        judgement = await self._judge(*triple)
        if judgement.value is None:
            raise NotScored(judgement.told)
        return judgement.value

    async def _judge(
        self, prompt: Text, query: Text, response: Text, expected: Text = None
    ) -> Judgement:
        if response is None:
            raise ScorerFailed("There is no response to be judged: its own call failed.")
        given = {"system_prompt": prompt, "query": query, "expected": expected}
        case = Case(0, {name: text for name, text in given.items() if text is not None})
        try:
            found = await self._scorer.judge_by_asking(response, case, self._models.ask)
            return checked(self._scorer, found)
        except CallError:
            raise
        except Exception as error:  # a plug-in's: one failure must not lose the batch
            raise failure_of(self._scorer, error) from error


def answer_queries(
    models: Models,
    model: str | Mapping[str, Any],
    system_prompts: Sequence[str],
    queries: Sequence[str],
) -> list[Kept[CandidateResponse]]:
    """For each query, what the model says under each of the system prompts, in their order. All
    calls go at once, as far as the models allow."""
    return models.run(_answer_queries(models, read_model(model), system_prompts, queries))


def fitness_of(
    critic: Critic,
    models: Models,
    model: str | Mapping[str, Any],
    system_prompts: Sequence[str],
    queries: Sequence[str],
    expected: Sequence[str | None] = (),
) -> list[Fitness]:
    """In the order of the prompts: each is tried on every query, and scored by the critic.
    `expected` are the queries' right answers, for a critic that needs them."""
    chosen = read_model(model)
    return models.run(_fitness_of(critic, models, chosen, system_prompts, queries, expected))


def read_model(model: str | Mapping[str, Any]) -> ModelChoice:
    return ModelChoice.model_validate(model)


async def _answer_queries(
    models: Models, model: ModelChoice, system_prompts: Sequence[str], queries: Sequence[str]
) -> list[Kept[CandidateResponse]]:
    async def answer(place: tuple[int, str]) -> CandidateResponse:
        index, query = place
        messages = [{"role": "user", "content": query}]
        if system_prompts[index]:
            messages.insert(0, {"role": "system", "content": system_prompts[index]})
        reply = await models.ask(chat_request(model.model_dump(), messages, 0, ""))
        return CandidateResponse(reply.text, system_prompts[index], index, reply)

    prompts = range(len(system_prompts))
    return await asyncio.gather(
        *(keep_all(answer, [(index, query) for index in prompts]) for query in queries)
    )


async def _fitness_of(
    critic: Critic,
    models: Models,
    model: ModelChoice,
    system_prompts: Sequence[str],
    queries: Sequence[str],
    expected: Sequence[str | None],
) -> list[Fitness]:
    if expected and len(expected) != len(queries):
        raise ValueError(f"expected has {len(expected)} answers for {len(queries)} queries.")
    by_query = await _answer_queries(models, model, system_prompts, queries)
    right = expected or [None] * len(queries)

    async def judge(index: int) -> Fitness:
        responses = column(by_query, index)
        texts = [one.text if one else None for one in responses]
        triples = [
            (system_prompts[index], *rest) for rest in zip(queries, texts, right, strict=True)
        ]
        scores = await critic.score_all(triples)
        known = [score for score in scores if score is not None]
        mean = sum(known) / len(known) if known else None
        return Fitness(index, system_prompts[index], mean, scores, responses)

    return await asyncio.gather(*(judge(index) for index in range(len(system_prompts))))


def column(by_query: Sequence[Kept[CandidateResponse]], index: int) -> Kept[CandidateResponse]:
    """Of one prompt, over the queries."""
    errors = {place: row.errors[index] for place, row in enumerate(by_query) if index in row.errors}
    return Kept([row[index] for row in by_query], errors)
