"""Tunes system prompts while they answer a person's own queries: for notebooks and scripts.

    flow = HybridOptimizationFlow(llm, ["Be brief.", "Be exact."], critic, parallel_eval=True)
    flow.run(queries)
    flow.best

The strategy is `hybrid` of runs of kind `evolve`; the person's model and critic make the calls.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby, islice
from typing import Any, NamedTuple, Protocol

from workers.engine.errors import EngineError, NotScored
from workers.engine.hybrid_parts import (
    ActorCriticParams,
    EvolutionaryParams,
    Feedback,
    FlowStepResult,
    HybridReward,
    PromptFitness,
    Reward,
    RewardParts,
    critic_alone,
)
from workers.engine.judgements import score_of
from workers.engine.kinds.evolve import Evolution
from workers.engine.kinds.evolve.hybrid import Hybrid
from workers.engine.kinds.evolve.population import Individual
from workers.engine.parallel import (
    CandidateResponse,
    TextModel,
    generate_candidates_parallel,
    score_batch_parallel,
)
from workers.engine.records import Score, Trial
from workers.engine.session import Session

__all__ = [
    "ActorCriticParams",
    "EvolutionaryParams",
    "FlowEnded",
    "FlowStepResult",
    "HybridOptimizationFlow",
    "HybridReward",
    "RewardParts",
]

ONE_EPISODE = 1_000_000  # trials: more than the options of the strategy allow
LLM_ERROR, CRITIC_ERROR, REWARD_ERROR = "llm_error", "critic_error", "reward_error"
NO_ERROR = ("", "")
LONGEST_MESSAGE = 500  # characters of an error that is kept


class ScoresAnswers(Protocol):
    """A critic, as of `workers.engine.critic` or one's own. None: it has no opinion."""

    def score(self, prompt: str, query: str, response: str, /) -> float | None: ...


class FlowEnded(EngineError):
    """A query came after the last episode."""


class HybridOptimizationFlow:
    """The K fittest prompts answer each query, and the critic scores them all. After M queries the
    fitness of each moves towards its rewards; after E times M the prompts evolve, section by
    section. The same seed, queries, answers and scores give the same prompts, at once or not."""

    def __init__(
        self,
        llm: TextModel | Callable[..., Any],
        population: Sequence[str],
        critic: ScoresAnswers,
        params: ActorCriticParams | None = None,
        evolution: EvolutionaryParams | None = None,
        *,
        reward_fn: Reward = critic_alone,
        feedback: Feedback | None = None,
        top_k_prompts: int | None = None,
        max_tokens: int = 512,
        temperature: float = 0.7,
        parallel_eval: bool | None = None,
        max_workers: int | None = None,
        seed: int = 0,
        **options: Any,
    ) -> None:
        """`llm` has a method `complete(prompt, *, max_tokens, temperature)` or is such a function.
        What is given here goes before what `params` says. `feedback(system_prompt, query,
        response)` is asked when there is a response; other options go to the model."""
        self._params = params or ActorCriticParams()
        self._count = self._params.num_candidates if top_k_prompts is None else top_k_prompts
        self._llm: TextModel = llm if hasattr(llm, "complete") else FunctionModel(llm)
        self._critic, self._reward, self._feedback = critic, reward_fn, feedback
        self._settings = {"max_tokens": max_tokens, "temperature": temperature, **options}
        is_parallel = self._params.parallel_eval if parallel_eval is None else parallel_eval
        workers = self._params.max_workers if max_workers is None else max_workers
        self._workers = workers if is_parallel else 1
        self._life = self._open(population, evolution or EvolutionaryParams(), seed)
        self._session = Session(self._life)
        self._waiting: list[list[Trial]] = []  # the queries of this episode that nobody asked yet
        self.history: list[Score] = []  # all that was learnt from: see `resume`
        self.steps: list[FlowStepResult] = []

    @property
    def reason(self) -> str:
        """Why it ended. Empty: it goes on."""
        return self._life.reason

    @property
    def standing(self) -> list[PromptFitness]:
        """The prompts that live, the fittest first; children come in with their first episode."""
        if not self._life.generations:
            return []
        found = self._life.generations[-1].standing
        return [PromptFitness(one.text, fit.total if fit else None) for one, fit in found]

    @property
    def best(self) -> str | None:
        """The fittest prompt. None before the first episode has ended, or if all of it failed."""
        found = self.standing
        return found[0].system_prompt if found and found[0].fitness is not None else None

    @property
    def episodes(self) -> int:
        return len(self._life.generations)

    def get_prompt_texts(self) -> list[str]:
        """Those that answer the next query, in this order. None after the last episode."""
        return [self._of(trial).text for some in self._next_queries()[:1] for trial in some]

    def step(self, query: str) -> FlowStepResult:
        """One query. FlowEnded after the last episode."""
        if not self._next_queries():
            raise FlowEnded(f"It has ended: {self.reason}. Start another flow for more queries.")
        return self._answer([query])[0]

    def run(self, queries: Iterable[str]) -> list[FlowStepResult]:
        """All of them in their order, or until it ends. What is left of an episode waits for the
        next queries, and its fitness with it."""
        rest, done = iter(queries), list[FlowStepResult]()
        while (places := len(self._next_queries())) and (some := list(islice(rest, places))):
            done += self._answer(some)
        return done

    def resume(self, history: Sequence[Score]) -> None:
        """Bring a new flow to where the one was that has this history. Nothing is called."""
        self._session.replay(len(history), history)
        if self._session.told != len(history):
            raise ValueError("This history is of a flow with other prompts, options or seed.")
        self.history = list(history)

    def _open(self, prompts: Sequence[str], how: EvolutionaryParams, seed: int) -> Hybrid:
        distinct = list(dict.fromkeys(prompts))
        evolving = asdict(how)
        evolving["population_size"] = max(how.population_size, len(distinct))
        evolving["patience"] = how.patience if how.min_improvement > 0 else None
        document = {
            "name": "flow",
            "kind": "evolve",
            "seed": seed,
            "dataset": "queries",
            "prompts": [
                {"name": f"p{place}", "system": text, "user": "query"}
                for place, text in enumerate(distinct, start=1)
            ],
            "models": ["own/llm"],
            "scorers": ["exact"],  # never asked: the critic scores
            "strategy": {
                "name": "hybrid",
                "num_candidates": self._count,
                "update_interval": self._params.update_interval,
                "evolution_interval": self._params.evolution_interval,
                "exploration": self._params.exploration,
                **evolving,
            },
        }
        configuration = Evolution.model_validate(document)
        # Every query is a case of its own: one that comes again is answered again.
        life = configuration.open_strategy(how.max_episodes * self._params.update_interval)
        assert isinstance(life, Hybrid)
        return life

    def _next_queries(self) -> list[list[Trial]]:
        """By query: the trials of this episode that are left, or those of the next one."""
        if not self._waiting:
            trials = self._session.plan(ONE_EPISODE)
            found = groupby(trials, key=lambda trial: (trial.case, trial.repeat))
            self._waiting = [list(some) for _, some in found]
        return self._waiting

    def _answer(self, queries: Sequence[str]) -> list[FlowStepResult]:
        """At most as many as are left of the episode."""
        taken = [self._waiting.pop(0) for _ in queries]
        asked = [
            Asked(query, trials, [self._of(trial).text for trial in trials])
            for query, trials in zip(queries, taken, strict=True)
        ]
        generated = [self._generate(one) for one in asked]
        triples = [
            (response.system_prompt, one.query, response.text)
            for one, responses in zip(asked, generated, strict=True)
            for response in responses
            if isinstance(response, CandidateResponse)
        ]
        scored = iter(
            score_batch_parallel(self._critic.score, triples, self._workers, on_error="return")
        )
        steps = [
            self._conclude(one, responses, scored)
            for one, responses in zip(asked, generated, strict=True)
        ]
        self.steps += steps
        return steps

    def _generate(self, asked: "Asked") -> list[CandidateResponse | Exception]:
        return generate_candidates_parallel(
            self._llm,
            asked.prompts,
            asked.query,
            max_workers=self._workers,
            on_error="return",
            **self._settings,
        )

    def _conclude(
        self,
        asked: "Asked",
        responses: Sequence[CandidateResponse | Exception],
        scored: Iterator[Any],
    ) -> FlowStepResult:
        """`scored` gives what the critic said of each response there is, in their order."""
        found = [
            Outcome(None, failed(LLM_ERROR, one))
            if isinstance(one, Exception)
            else self._rewarded(asked.query, one, next(scored))
            for one in responses
        ]
        scores = [
            Score(trial, value=one.reward, error=one.error[0], message=one.error[1])
            for trial, one in zip(asked.trials, found, strict=True)
        ]
        self.history += scores
        self._session.absorb_fresh(scores)
        return FlowStepResult(
            asked.query,
            list(asked.prompts),
            [one if isinstance(one, CandidateResponse) else None for one in responses],
            [one.critic_score for one in found],
            [one.reward for one in found],
            {place: one.error[1] for place, one in enumerate(found) if one.error[0]},
        )

    def _rewarded(self, query: str, response: CandidateResponse, said: Any) -> "Outcome":
        if isinstance(said, Exception):
            return Outcome(None, failed(CRITIC_ERROR, said))
        if said is None:
            return Outcome(None, (NotScored.name, "The critic gave no score."))
        try:
            score = score_of("The critic", said)
        except Exception as error:  # noqa: BLE001 - what a critic gives is the person's own
            return Outcome(None, failed(CRITIC_ERROR, error))
        try:
            return Outcome(score, NO_ERROR, self._reward_of(query, response, score))
        except Exception as error:  # noqa: BLE001 - feedback and reward are the person's own
            return Outcome(None, failed(REWARD_ERROR, error))

    def _reward_of(self, query: str, response: CandidateResponse, score: float) -> float:
        prompt, text = response.system_prompt, response.text
        feedback = self._feedback(prompt, query, text) if self._feedback else None
        reward = float(self._reward(RewardParts(score, feedback, len(text.split()))))
        if not math.isfinite(reward):
            raise ValueError(f"The reward function gave {reward}. A reward is a finite number.")
        return reward

    def _of(self, trial: Trial) -> Individual:
        return self._life.individual(trial.candidate)


class Asked(NamedTuple):
    query: str
    trials: list[Trial]
    prompts: list[str]


class Outcome(NamedTuple):
    critic_score: float | None
    error: tuple[str, str]  # its name and its message; empty: none
    reward: float | None = None


class FunctionModel:
    """A plain function as a model."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def complete(self, prompt: str, **settings: Any) -> Any:
        return self._function(prompt, **settings)


def failed(name: str, error: Exception) -> tuple[str, str]:
    return name, f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE]
