"""What goes into the flow of `hybrid_flow` and comes out of it: parameters, rewards, steps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from workers.engine.parallel import CandidateResponse

HALF_LONG_TOKENS = 500  # an answer of so many loses half of what length can cost

Feedback = Callable[[str, str, str], float | None]
"""Of system prompt, query and response: what a person thinks, from 0 to 1; None: nothing."""


class RewardParts(NamedTuple):
    critic_score: float
    human_feedback: float | None = None
    tokens_used: int = 0  # words of the response
    coherence: float = 0.0
    safety_penalty: float = 0.0


Reward = Callable[[RewardParts], float]


def critic_alone(parts: RewardParts) -> float:
    return parts.critic_score


@dataclass(frozen=True, slots=True)
class HybridReward:
    """The weighted sum of all parts. Length and harm take away, whatever the sign of a weight would
    suggest: a longer answer is never worth more for its length."""

    lambda_feedback: float = 1.0
    lambda_critic: float = 0.8
    lambda_coherence: float = 0.3
    lambda_tokens: float = -0.001
    lambda_safety: float = -1.0

    def __call__(self, parts: RewardParts) -> float:
        length = parts.tokens_used / (parts.tokens_used + HALF_LONG_TOKENS)
        return (
            self.lambda_feedback * (parts.human_feedback or 0.0)
            + self.lambda_critic * parts.critic_score
            + self.lambda_coherence * parts.coherence
            - abs(self.lambda_tokens) * length
            - abs(self.lambda_safety) * parts.safety_penalty
        )


@dataclass(frozen=True, slots=True)
class ActorCriticParams:
    """Who answers, and when anything is learnt."""

    num_candidates: int = 5  # K: prompts that answer each query
    update_interval: int = 10  # M: queries of an episode, after which fitness is updated
    evolution_interval: int = 5  # E: episodes after which the prompts evolve
    exploration: float = 0.1  # how often one of the K is another than the fittest
    parallel_eval: bool = False
    max_workers: int | None = None  # threads; None: as many as there is work for, at most four


@dataclass(frozen=True, slots=True)
class EvolutionaryParams:
    """How prompts evolve. It ends early only with a `min_improvement`."""

    population_size: int = 10  # at least as many as prompts are given
    elite_size: int = 2
    mutation_rate: float = 0.3  # of each section
    crossover_rate: float = 0.5  # of each section, to be the first parent's
    min_improvement: float = 0.0
    patience: int = 5  # evolutions in which the best must gain that much
    max_episodes: int = 50


class PromptFitness(NamedTuple):
    system_prompt: str
    fitness: float | None  # None: nothing that it answered was scored yet


class FlowStepResult(NamedTuple):
    """One query, and what each prompt that answered made of it. The lists are in the order of the
    prompts; what failed is None there, and its error is kept by its position."""

    query: str
    system_prompts: list[str]
    candidates: list[CandidateResponse | None]
    critic_scores: list[float | None]
    rewards: list[float | None]
    errors: dict[int, str]

    @property
    def chosen(self) -> int | None:
        """Whose answer is shown: the one with the highest reward, of equals the fitter prompt's."""
        known = [place for place, reward in enumerate(self.rewards) if reward is not None]
        return max(known, key=lambda place: self.rewards[place] or 0.0, default=None)

    @property
    def response_shown(self) -> str | None:
        found = None if self.chosen is None else self.candidates[self.chosen]
        return found.text if found else None

    @property
    def system_prompt_used(self) -> str | None:
        return None if self.chosen is None else self.system_prompts[self.chosen]
