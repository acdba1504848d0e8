"""Chooses among model combinations of an agent of one's own: for notebooks and scripts.

    found = select_best(my_agent, {"planner": ["small", "large"]}, [("2 + 3?", "5")], is_right)
    found.best.choices

The same strategies and statistics as runs of kind `select`; the agent makes its own calls.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

from workers.engine.calling.flaws import FLAWS
from workers.engine.errors import CallError, NoText
from workers.engine.judgements import score_of
from workers.engine.kinds.select.given_models import chosen_model, labels_of
from workers.engine.kinds.select.litellm import Server, facts_of, litellm_config
from workers.engine.kinds.select.rows import CombinationRow, RoundRow, rounds_of, rows_of
from workers.engine.kinds.select.table_csv import csv_of
from workers.engine.lanes import ProcessLane
from workers.engine.records import Candidate, Score, Trial
from workers.engine.session import Session
from workers.engine.spec.documents import write_document
from workers.engine.strategies import Rounds, build_selection
from workers.engine.strategies.options import Objective

AGENT_ERROR = "agent_error"
METHODS = {"auto": "arm_elimination", "random": "random_search"}
AT_ONCE = 10_000  # trials planned at once; slots, not plans, decide what runs

Judge = Callable[[Any, Any], float | Awaitable[float]]
Agent = Callable[..., Any]
"""A class whose agents `run(input)`, or a function `(models, input)`; either may be async."""


class Answer(NamedTuple):
    """What an agent may give instead of the bare answer: also what it cost, in dollars, how long it
    took where the clock cannot tell, as with answers that were cached, and what is wrong with it:
    truncated, filtered or no_text. Such an evaluation fails."""

    value: Any
    cost: float | None = None
    latency_ms: float | None = None
    flaw: str = ""


def read_answer(given: Any) -> Answer:
    """A bare empty text is no answer, as in runs; `Answer("")` is one that is judged."""
    if isinstance(given, Answer):
        if given.flaw and given.flaw not in FLAWS:
            raise ValueError(f"Unknown flaw {given.flaw!r}. Choose one of: {', '.join(FLAWS)}.")
        return given
    is_empty = isinstance(given, str) and not given.strip()
    return Answer(given, flaw=NoText.name if is_empty else "")


def answered(agent: Agent, models: dict[str, Any], given: Any) -> Any:
    """One agent for each evaluation: it need not stand being shared."""
    if is_plain_function(agent):
        return agent(models, given)
    return agent(models).run(given)


def is_plain_function(agent: Any) -> bool:
    return callable(agent) and not hasattr(agent, "run")


@dataclass(frozen=True)
class Found:
    """What `select_best` found. Failed evaluations count as wrong."""

    rows: list[CombinationRow]
    rounds: list[RoundRow]
    models: dict[str, Any] | None  # of the best, as they were given; None: nothing ever answered
    evaluations: int
    brute_force_evaluations: int
    seconds: float
    dollars: float | None  # spent on all evaluations; None: an agent did not tell
    errors: list[str] = field(default_factory=list)  # the first of each kind

    @property
    def best(self) -> CombinationRow | None:
        return self.rows[0] if self.rows and self.rows[0].is_best else None

    def to_csv(self, path: str | Path) -> None:
        Path(path).write_text(csv_of(self.rows), encoding="utf-8")

    def export_config(self, path: str | Path) -> None:
        """The models of the best as a LiteLLM configuration, each under the name of its step.
        Keys are left to the environment."""
        if self.best is None or self.models is None:
            raise ValueError("No combination has given an answer, so there is none to write.")
        chosen = [chosen_model(step, model) for step, model in self.models.items()]
        servers = {model.endpoint: Server(model.endpoint, "") for model in chosen}
        document = litellm_config(chosen, servers, facts_of(self.best))
        Path(path).write_text(write_document(document), encoding="utf-8")


def select_best(
    agent: Agent,
    models: Mapping[str, Sequence[Any]],
    dataset: Sequence[tuple[Any, Any]],
    eval_fn: Judge,
    method: str = "auto",
    parallel: bool = True,
    max_concurrent: int = 20,
    *,
    seed: int = 0,
    lambda_cost: float = 0.0,
    lambda_latency: float = 0.0,
    mode: Literal["weighted", "pareto"] = "weighted",
    eval_seconds: float | None = None,
    **options: Any,
) -> Found:
    """`agent(models, input)`, or `agent(models).run(input)`, is judged by
    `eval_fn(expected, actual)`. At most `max_concurrent` run at once, plain or async. The best is
    the most accurate, less so many times its price and latency, each from 0 to 1; under the mode
    pareto nobody is given up for another that is slower or dearer. With `eval_seconds` a plain
    `eval_fn` judges in a process of its own, which is ended when one answer takes longer: a
    function of a module then, not of the notebook itself. The options are those of the method."""
    check(agent, models, dataset, max_concurrent)
    slots = max_concurrent if parallel else 1
    work = Work(agent, models, dataset, eval_fn, slots, eval_seconds)
    name = METHODS.get(method, method)
    aims = Objective(
        mode=mode, lambda_cost=float(lambda_cost), lambda_latency=float(lambda_latency)
    )
    strategy = build_selection(
        name, work.candidates, len(dataset), seed=seed, options=options, objective=aims
    )
    started = time.monotonic()
    run_anywhere(work.run(strategy))
    seconds = time.monotonic() - started
    chosen = strategy.best
    return Found(
        rows=rows_of(strategy),
        rounds=rounds_of(strategy, work.slots),
        models=None if chosen is None else work.combinations[chosen],
        evaluations=len(work.scores),
        brute_force_evaluations=len(work.candidates) * len(dataset),
        seconds=seconds,
        dollars=total_if_known(paid_for(work.scores)),
        errors=list(dict.fromkeys(score.message for score in work.scores if score.error)),
    )


def check(agent: Agent, models: Any, dataset: Any, max_concurrent: int) -> None:
    if not is_plain_function(agent) and not callable(getattr(agent, "run", None)):
        raise TypeError(
            "agent is a class, of which agent(models).run(input) answers, "
            "or a function: agent(models, input)."
        )
    if not models or not all(models.values()):
        raise ValueError("models maps each step to one or more models. Give at least one of each.")
    if not len(dataset) or any(len(pair) != 2 for pair in dataset):
        raise ValueError("dataset is a sequence of (input, expected) pairs, at least one.")
    if max_concurrent < 1:
        raise ValueError(f"max_concurrent is {max_concurrent}. Give 1 or more.")


class Work:
    """The agent's evaluations, each in a slot of its own."""

    def __init__(
        self,
        agent: Agent,
        models: Mapping[str, Sequence[Any]],
        dataset: Sequence[tuple[Any, Any]],
        judge: Judge,
        slots: int,
        judging_seconds: float | None,
    ) -> None:
        self._agent, self._dataset, self._judge, self.slots = agent, dataset, judge, slots
        self._processes = ProcessLane(judging_seconds) if judging_seconds else None
        self._is_async = inspect.iscoroutinefunction(getattr(agent, "run", agent))
        self.combinations = [
            dict(zip(models, one, strict=True)) for one in product(*models.values())
        ]
        self.candidates = candidates_of(models)
        self.scores: list[Score] = []

    async def run(self, strategy: Rounds[Any]) -> None:
        try:
            await self._run(strategy)
        finally:
            if self._processes is not None:
                await self._processes.close()

    async def _run(self, strategy: Rounds[Any]) -> None:
        session = Session(strategy)
        slots = asyncio.Semaphore(self.slots)
        with ThreadPoolExecutor(self.slots, thread_name_prefix="agent") as threads:
            while trials := session.plan(AT_ONCE):
                tasks = [self._evaluate(trial, slots, threads) for trial in trials]
                scores = await asyncio.gather(*tasks)
                self.scores += scores
                session.absorb(scores)

    async def _evaluate(
        self, trial: Trial, slots: asyncio.Semaphore, threads: ThreadPoolExecutor
    ) -> Score:
        async with slots:
            try:
                return await self._score(trial, threads)
            except CallError as error:
                return Score(trial, error=error.name, message=str(error)[:500])
            except Exception as error:  # noqa: BLE001 - the agent is not ours; its failure is data
                told = f"{type(error).__name__}: {error}"[:500]
                return Score(trial, error=AGENT_ERROR, message=told)

    async def _score(self, trial: Trial, threads: ThreadPoolExecutor) -> Score:
        given, expected = self._dataset[trial.case]
        models = dict(self.combinations[int(trial.candidate)])
        started = time.monotonic()
        if self._is_async:
            answer = await answered(self._agent, models, given)
        else:
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(threads, answered, self._agent, models, given)
        took_ms = (time.monotonic() - started) * 1000
        value, cost, latency_ms, flaw = read_answer(answer)
        if flaw:
            told = f"The agent's answer is not whole: {flaw.replace('_', ' ')}."
            return Score(trial, error=flaw, message=told, cost=cost, full_cost=cost)
        return Score(
            trial,
            value=await self._judged(expected, value, threads),
            latency_ms=took_ms if latency_ms is None else latency_ms,
            cost=cost,
            full_cost=cost,
        )

    async def _judged(self, expected: Any, value: Any, threads: ThreadPoolExecutor) -> float:
        """A plain judge may call a model too, so it must not keep the others waiting."""
        if inspect.iscoroutinefunction(self._judge):
            return score_of("eval_fn", await self._judge(expected, value))
        if self._processes is not None:
            modules = frozenset({self._judge.__module__})
            done: Any = await self._processes.call(self._judge, expected, value, modules=modules)
            return score_of("eval_fn", done)
        loop = asyncio.get_running_loop()
        judged: Any = await loop.run_in_executor(threads, self._judge, expected, value)
        return score_of("eval_fn", judged)


def candidates_of(models: Mapping[str, Sequence[Any]]) -> list[Candidate]:
    """In the order of the product."""
    labels = product(*(labels_of(some) for some in models.values()))
    choices = [dict(zip(models, one, strict=True)) for one in labels]
    return [
        Candidate(
            str(arm), " + ".join(f"{s}={label}" for s, label in one.items()), {"choices": one}
        )
        for arm, one in enumerate(choices)
    ]


def paid_for(scores: Sequence[Score]) -> list[float | None]:
    """Of a failed evaluation only what its agent told."""
    return [score.cost for score in scores if not score.error or score.cost is not None]


def total_if_known(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


def run_anywhere(work: Coroutine[Any, Any, None]) -> None:
    """Also inside a notebook, whose own loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    with ThreadPoolExecutor(1) as aside:
        aside.submit(asyncio.run, work).result()
