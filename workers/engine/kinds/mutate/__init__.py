"""Kind `mutate`: a policy learns which rewriting of a query changes what a model answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from workers.engine.chunks import Work
from workers.engine.errors import Problem
from workers.engine.kinds.mutate.goals import GOALS
from workers.engine.kinds.mutate.learners import LEARNERS, Learner, Sizes
from workers.engine.kinds.mutate.operators import OPERATORS, USUAL, OperatorChoice
from workers.engine.kinds.mutate.options import MOST_WORK, TrainingOptions
from workers.engine.kinds.mutate.roles import Roles, reward_scorers
from workers.engine.kinds.mutate.rules import Carry
from workers.engine.kinds.mutate.target import SegmentTarget
from workers.engine.kinds.mutate.training import HELD_OUT, UCB, UNIFORM, Training
from workers.engine.named import NamedChoice, Registry
from workers.engine.named.choice import numbered, problems_with
from workers.engine.records import Candidate
from workers.engine.scorers import PostingScorer
from workers.engine.spec.configuration import (
    KIND,
    Configuration,
    DatasetChoice,
    Limits,
    ModelChoice,
    NotSwitch,
    OwnRegistry,
    Template,
    TrialRange,
    refuse_twins,
)
from workers.engine.spec.parts import ScorerChoice
from workers.engine.strategies.confirmed import split_cases
from workers.engine.targets import Target

HELD_OUT_QUERIES = (
    "Queries that the policy is not trained on, drawn by the seed: below 1 a share of them, from 1 "
    "on a whole number. At the end the trained policy, uniform and ucb are compared on them. null: "
    "no comparison."
)


class LearnerChoice(NamedChoice):
    """How the policy learns, by name or with options, as in {name: ppo, updates: 20}."""

    registry: ClassVar[Registry[Any]] = LEARNERS


class Mutation(Configuration):
    """Kind `mutate`: a policy learns which rewriting of a query changes what a model answers."""

    learns: ClassVar[bool] = True
    bears: ClassVar[bool] = True
    keeps_records: ClassVar[bool] = True
    target: ClassVar[type[Target]] = SegmentTarget
    own_registries: ClassVar[Sequence[OwnRegistry]] = (
        OwnRegistry(
            "learners",
            LEARNERS,
            "How the policy of a run of kind mutate learns: its `strategy`, by name or with "
            "options.",
        ),
        OwnRegistry(
            "rewriting operators",
            OPERATORS,
            "What a run of kind mutate may do to a query: its `operators`, by name, or with "
            "options, as in {typo_noise: {rate: 0.2}}.",
        ),
    )

    kind: Literal["mutate"] = Field(description=KIND)
    dataset: DatasetChoice = Field(description="The queries, with their expected answers.")
    operators: Annotated[list[OperatorChoice], Field(min_length=2, max_length=50)] = Field(
        default_factory=lambda: [OperatorChoice.model_validate(name) for name in USUAL],
        description="What the policy chooses among: how a query is rewritten.",
    )
    goal: Literal["stays_right", "turns_wrong", "consistent"] = Field(
        "turns_wrong",
        description="stays_right rewards answers that stay right; turns_wrong finds rewrites under "
        "which they turn wrong; consistent rewards answers that agree with the one to the query as "
        "it was.",
    )
    roles: Roles = Field(description="Who rewrites, who answers, who judges, who embeds.")
    reward: Literal["auto", "scorers", "judge", "similarity"] = Field(
        "auto",
        description="What an answer is judged by: the scorers, the judge of the roles (as the "
        "scorer factuality), or the similarity of embeddings. auto: the first of them that is "
        "there. Stored as scorers.",
    )
    scorers: Annotated[list[ScorerChoice], Field(min_length=1, max_length=10)] = Field(
        description="How an answer is judged. Empty: as `reward` says."
    )
    query: Annotated[str, Field(min_length=1, max_length=10_000)] = Field(
        "{{question}}", description="The query as it is asked at first, filled from a case."
    )
    system: Annotated[str, Field(max_length=20_000)] = Field(
        "", description="What the target is told besides. It is not rewritten."
    )
    strategy: LearnerChoice = Field(
        LearnerChoice(name="ppo"), description="How the policy learns, and for how long."
    )
    max_steps: Annotated[int, Field(ge=1, le=1000), NotSwitch] = Field(
        10, description="Steps of an episode. After the last one it begins anew with the query."
    )
    carry: Carry = Field(
        "rewarded",
        description="Which rewritten query the next step goes on from: rewarded, if its reward is "
        "above carry_above; always; or never.",
    )
    carry_above: Annotated[float, Field(ge=0, le=1), NotSwitch] = Field(
        0.5, description="The reward above which a rewritten query is carried forward."
    )
    success_above: Annotated[float, Field(ge=0, le=1), NotSwitch] = Field(
        0.7, description="The reward above which a step counts as a success."
    )
    observation_size: Annotated[int, Field(ge=8, le=1024), NotSwitch] = Field(
        128,
        description="Numbers of an embedding that the policy sees. Longer ones are folded, shorter "
        "ones padded with zeros.",
    )
    use_batching: bool = Field(
        True,
        description="false makes one call at a time: the same transitions, only later.",
    )
    repeats: Annotated[int, Field(ge=1, le=1), NotSwitch] = Field(
        1, description="Not used: an environment plays a query as often as there are updates."
    )
    held_out: Annotated[float, Field(gt=0, le=2_000_000), NotSwitch] | None = Field(
        0.2, description=HELD_OUT_QUERIES
    )

    @model_validator(mode="before")
    @classmethod
    def read_reward(cls, value: Any) -> Any:
        """Scorers that are not given are stored with the run, so that it stays what it is when a
        default changes."""
        if not isinstance(value, dict) or value.get("scorers"):
            return value
        return {**value, "scorers": reward_scorers(value)}

    @field_validator("operators")
    @classmethod
    def check_operators(cls, operators: list[OperatorChoice]) -> list[OperatorChoice]:
        refuse_twins(one.name for one in operators)
        return operators

    @model_validator(mode="after")
    def take_turns(self) -> "Mutation":
        """Without batching one call is made at a time."""
        if not self.use_batching:
            limits: Limits = self.limits.model_copy(update={"max_concurrent": 1})
            object.__setattr__(self, "limits", limits)
        return self

    @property
    def options(self) -> TrainingOptions:
        """Those of its strategy, with all that was not given."""
        chosen: TrainingOptions = LEARNERS.choose(self.strategy.name, self.strategy.options).options
        return chosen

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.observation_size, len(self.operators), self.seed)

    def open_learner(self) -> Learner[Any]:
        return LEARNERS[self.strategy.name](self.options, self.sizes)

    @property
    def count_rivals(self) -> int:
        """That are compared on held-out queries."""
        return len({self.strategy.name, UNIFORM, UCB})

    @property
    def called(self) -> list[ModelChoice]:
        return [model for _, model in self.roles.called]

    def model_path(self, index: int) -> str:
        return f"roles.{self.roles.called[index][0]}"

    @property
    def candidates(self) -> int:
        return self.options.count_updates

    def templates(self) -> Iterator[Template]:
        yield Template("query", self.query, ())

    def rules_of(self, role: str) -> dict[str, Any]:
        """How a segment goes on, for whoever plays it. On held-out queries it is one episode."""
        steps = self.max_steps if role == HELD_OUT else self.options.num_steps
        kept = ("seed", "goal", "query", "system", "max_steps", "carry", "carry_above")
        return {
            **{name: getattr(self, name) for name in kept},
            "success_above": self.success_above,
            "observation_size": self.observation_size,
            "combine": self.combine,
            "num_steps": steps,
            "operators": [one.model_dump() for one in self.operators],
            "scorers": [one.model_dump(mode="json") for one in self.scorers],
            "roles": self.roles.model_dump(),
        }

    @property
    def models_of_segments(self) -> list[dict[str, Any]]:
        return [model.model_dump() for model in self.called]

    def make_candidates(self) -> list[Candidate]:
        return list(Training(self, split_cases(1, 0, self.seed)).candidates)

    def begin(self, cases: int) -> Training:
        return Training(self, split_cases(cases, self.count_held_out(cases), self.seed))

    def open_strategy(self, cases: int) -> Training:
        return Training(self, split_cases(cases, 0, self.seed))

    def count_segments(self) -> int:
        return self.options.count_updates * self.options.num_processes

    def most_trials(self, cases: int) -> int:
        return self.count_segments()

    def bound_trials(self, cases: int) -> TrialRange:
        return TrialRange(self.count_segments(), self.count_segments())

    def first_round(self, cases: int) -> Work:
        """The first update."""
        return Work(1, self.options.num_processes, self.options.num_processes)

    def count_confirming(self, cases: int) -> int:
        return self.count_rivals * self.count_held_out(cases)

    def calls_per_trial(self) -> int:
        """At most: an operator that asks nobody, a local embedder and the cache save some."""
        return self.options.num_steps * (1 + bool(self.roles.mutator) + bool(self.roles.embedder))

    def answers_per_trial(self) -> int:
        return self.options.num_steps

    @staticmethod
    def models_called(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        return list(document["models"])

    @staticmethod
    def texts_of(document: Mapping[str, Any]) -> list[str]:
        return [document["rules"]["query"]]

    def problems(self) -> list[Problem]:
        asking = [one.name for one in self.operators if one.asks]
        found = []
        if asking and self.roles.mutator is None:
            told = f"The operator {asking[0]} asks a model: name it as the mutator."
            found.append(Problem("roles.mutator", told))
        for index, choice in enumerate(self.scorers):
            if isinstance(choice.scorer, PostingScorer):
                told = f"The scorer {choice.name} asks a service, which a step does not wait for."
                found.append(Problem(f"scorers.{index}", told))
        return found

    def plugin_problems(self) -> list[Problem]:
        """Also what may not be begun any more: what was stored before can be looked at."""
        named = {"strategy": self.strategy, **numbered("operators", self.operators)}
        if unknown := [*super().plugin_problems(), *problems_with(named)]:
            return unknown
        return [*self._problems_of_work(), *self._problems_of_comparing()]

    def _problems_of_work(self) -> Iterator[Problem]:
        work = LEARNERS[self.strategy.name].work(self.options, self.sizes)
        if work > MOST_WORK:
            told = (
                f"Learning from an update would take {work / MOST_WORK:.1f} times as long as it "
                "may: nothing is planned meanwhile. Lower num_processes, num_steps, ppo_epoch, "
                "hidden_size or observation_size."
            )
            yield Problem("strategy", told)

    def _problems_of_comparing(self) -> Iterator[Problem]:
        if not GOALS[self.goal].judged_by_own_answer:
            return
        for index, choice in enumerate(self.scorers):
            if choice.scorer is not None and not choice.scorer.compares_answers:
                told = (
                    f"The goal {self.goal} compares two answers, which the scorer {choice.name} "
                    "cannot. Use one that compares texts, such as exact, token_f1, similarity or "
                    "factuality, or another goal."
                )
                yield Problem(f"scorers.{index}", told)
