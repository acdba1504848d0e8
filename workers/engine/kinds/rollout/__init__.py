"""Kind `rollout`: policies play missions."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from workers.engine.environments import ENVIRONMENTS
from workers.engine.errors import Problem
from workers.engine.json_text import to_json
from workers.engine.kinds.rollout.in_turn import InTurn
from workers.engine.kinds.rollout.missions import MOST_MISSIONS, Mission, expand
from workers.engine.kinds.rollout.players import LaneName, PolicyChoice, candidates_of
from workers.engine.kinds.rollout.target import RolloutTarget
from workers.engine.policies import POLICIES
from workers.engine.records import Candidate
from workers.engine.spec.configuration import (
    KIND,
    Configuration,
    Limits,
    ModelChoice,
    NotSwitch,
    OwnRegistry,
    Strict,
    Template,
    refuse_twins,
)
from workers.engine.spec.parts import ScorerChoice
from workers.engine.strategies import Grid, Strategy
from workers.engine.targets import Target

Level = Literal["missions", "episodes", "agents"]
JOBS = (
    "What may be played at once, over missions, episodes and agents and over all workers. The same "
    "as limits.max_concurrent, which counts if both are given."
)


ABOUT_POLICIES = (
    "Who plays in a run of kind rollout: by name, or with options, as in {linear: {seed: 3}}; with "
    "its share of the agents or a lane of its own, as in {name: linear, share: 2, lane: batch}."
)
ABOUT_ENVIRONMENTS = (
    "Where policies play in a run of kind rollout. A mission names the environment and what of it, "
    "as in grid/harvest; the options stand under `options` of the mission."
)


class Batching(Strict):
    """Observations that one call of step_batch takes."""

    most: Annotated[int, Field(ge=1, le=4096), NotSwitch] = Field(
        128, description="The most observations in a batch, of all agents of all its episodes."
    )
    wait_ms: Annotated[float, Field(ge=0, le=1000)] = Field(
        5, description="How long the first episode of a batch waits for others."
    )
    device: Annotated[str, Field(pattern=r"^[a-z]+(:[0-9]+)?$", max_length=30)] = Field(
        "cpu",
        description="Where policies that take a device compute their batches, as in cuda:0. It is "
        "handed to them as it is.",
    )


class Rollout(Configuration):
    """Kind `rollout`: policies play missions."""

    learns: ClassVar[bool] = Grid.learns
    keeps_records: ClassVar[bool] = True
    target: ClassVar[type[Target]] = RolloutTarget
    own_registries: ClassVar[Sequence[OwnRegistry]] = (
        OwnRegistry("policies", POLICIES, ABOUT_POLICIES),
        OwnRegistry("environments", ENVIRONMENTS, ABOUT_ENVIRONMENTS),
    )

    kind: Literal["rollout"] = Field(description=KIND)
    dataset: None = Field(None, description="Not used: missions and episodes are the cases.")
    missions: Annotated[list[Mission], Field(min_length=1, max_length=MOST_MISSIONS)] = Field(
        description="Where policies play."
    )
    policies: Annotated[list[PolicyChoice], Field(min_length=1, max_length=50)] = Field(
        description="Who plays."
    )
    play: Literal["each", "together"] | None = Field(
        None,
        description="each: every policy plays every episode alone; together: they share the agents "
        "of an episode by their shares. Empty: together if a policy has a share.",
    )
    episodes: Annotated[int, Field(ge=1, le=100_000), NotSwitch] = Field(
        10, description="Episodes of each mission. Their seeds are the run's and those after it."
    )
    jobs: Annotated[int, Field(ge=1, le=1000), NotSwitch] = Field(4, description=JOBS)
    lane: LaneName = Field(
        "auto",
        description="Where policies compute. auto measures the first steps and says what it chose.",
    )
    levels: Annotated[list[Level], Field(min_length=1, max_length=3)] = Field(
        ["missions", "episodes", "agents"],
        description="What may be played at once; leave one out to switch it off.",
    )
    batching: Batching = Field(
        default_factory=lambda: Batching.model_validate({}),
        description="How the lane batch collects observations.",
    )
    action_timeout_ms: Annotated[float, Field(gt=0, le=600_000), NotSwitch] | None = Field(
        2000,
        description="An action that takes longer is interrupted and nothing is done instead. "
        "Empty: no limit.",
    )
    overage_ms: Annotated[float, Field(ge=0, le=3_600_000), NotSwitch] | None = Field(
        None,
        description="How late an agent may be in all of an episode. Late actions count until it is "
        "used up; from then on the agent does nothing. Empty: a late action never counts.",
    )
    episode_seconds: Annotated[float, Field(gt=0, le=86_400), NotSwitch] = Field(
        600, description="An episode that takes longer fails, and its process is ended."
    )
    replays: bool = Field(True, description="Keep what happened in each episode, step by step.")
    pictures: Literal["none", "first", "all"] = Field(
        "none",
        description="Which replays have pictures, where the environment draws some: none, that of "
        "the first episode of each mission, or all. Drawing takes longer than playing.",
    )
    repeats: Annotated[int, Field(ge=1, le=1), NotSwitch] = Field(
        1, description="Not used: an episode that is played again is the same one."
    )
    scorers: Annotated[list[ScorerChoice], Field(max_length=0)] = Field(
        [], description="Not used: the return of an episode is its score."
    )

    @field_validator("policies")
    @classmethod
    def check_policies(cls, policies: list[PolicyChoice]) -> list[PolicyChoice]:
        refuse_twins(policy.label for policy in policies)
        return policies

    @field_validator("scorers")
    @classmethod
    def check_scorers(cls, scorers: list[ScorerChoice]) -> list[ScorerChoice]:
        return scorers  # there are none, and none is missing

    @model_validator(mode="after")
    def check_play(self) -> "Rollout":
        refuse_twins(mission.label for mission in self.missions)
        if self.play == "each" and any(policy.share is not None for policy in self.policies):
            raise ValueError("A share is a policy's part of the agents: write play: together.")
        asking = [one for one in self.policies if one.model]
        if asking and any(one.lane not in (None, "auto", "async") for one in asking):
            raise ValueError("A policy that asks a model plays on the lane async.")
        plain = [one for one in self.policies if one.lane == "async" and not one.model]
        if plain or (self.lane == "async" and len(asking) < len(self.policies)):
            raise ValueError("The lane async is for policies that ask a model, such as chat.")
        if self.pictures != "none" and not self.replays:
            raise ValueError("Pictures are a part of replays: write replays: true.")
        return self

    @model_validator(mode="after")
    def take_jobs(self) -> "Rollout":
        """As the limit of calls at once, which can be changed while the run goes on."""
        if self.limits.max_concurrent is None:
            limits: Limits = self.limits.model_copy(update={"max_concurrent": self.jobs})
            object.__setattr__(self, "limits", limits)
        return self

    @property
    def plays_together(self) -> bool:
        if self.play is not None:
            return self.play == "together"
        return any(policy.share is not None for policy in self.policies)

    @property
    def called(self) -> list[ModelChoice]:
        models = [policy.model for policy in self.policies]
        found = {model.label: model for model in models if model is not None}
        return list(found.values())

    @property
    def candidates(self) -> int:
        return 1 if self.plays_together else len(self.policies)

    def templates(self) -> Iterator[Template]:
        return iter(())

    def make_candidates(self) -> list[Candidate]:
        """What else decides how an episode is played goes with them, to whoever plays it."""
        rules = {
            "lane": self.lane,
            "levels": list(self.levels),
            "batching": self.batching.model_dump(),
            "action_timeout_ms": self.action_timeout_ms,
            "overage_ms": self.overage_ms,
            "episode_seconds": self.episode_seconds,
            "replays": self.replays,
            "pictures": self.pictures,
            "jobs": self.limits.max_concurrent or self.jobs,
        }
        found = candidates_of(self.policies, together=self.plays_together)
        return [Candidate(one.key, one.name, {**one.document, "rules": rules}) for one in found]

    def make_cases(self) -> list[dict[str, str]]:
        """Episode by episode, so that all missions go on at once; or mission by mission."""
        missions, episodes = list(expand(self.missions)), range(self.episodes)
        if self.plays_in_turn:
            return [case_of(one, episode, self.seed) for one in missions for episode in episodes]
        return [case_of(one, episode, self.seed) for episode in episodes for one in missions]

    @property
    def plays_in_turn(self) -> bool:
        """One mission after the other."""
        return "missions" not in self.levels

    def open_strategy(self, cases: int) -> Strategy:
        candidates = self.make_candidates()
        if self.plays_in_turn:
            return InTurn(candidates, cases, self.episodes, self.seed)
        return Grid(candidates, cases, self.repeats, self.seed)

    def calls_per_trial(self) -> int:
        """A call of each agent in each step, at most, of policies that ask a model."""
        if not self.called:
            return 0
        return max(mission.max_steps * mission.count_agents() for mission in self.missions)

    def why_no_dry_run(self) -> str:
        return (
            "A trial of this run is a whole episode, which workers play in processes of their own. "
            "Launch it with one episode a mission instead."
        )

    @staticmethod
    def models_called(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        return list(document["models"])

    @staticmethod
    def texts_of(document: Mapping[str, Any]) -> list[str]:
        return []

    def narrow(
        self, document: Mapping[str, Any], candidates: Collection[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """The policies that occur among them."""
        if self.plays_together:
            return dict(document)
        kept = {policy["label"] for one in candidates for policy in one["policies"]}
        policies = [
            written
            for written, policy in zip(document["policies"], self.policies, strict=True)
            if policy.label in kept
        ]
        return {**document, "policies": policies}

    def plugin_problems(self) -> list[Problem]:
        found = [
            Problem(f"policies.{index}", told)
            for index, policy in enumerate(self.policies)
            if (told := POLICIES.problem_with(policy.name, policy.options))
        ]
        return found + [
            Problem(f"missions.{index}", told)
            for index, mission in enumerate(self.missions)
            if (told := mission.problem())
        ]

    def model_path(self, index: int) -> str:
        asking = [number for number, policy in enumerate(self.policies) if policy.model]
        return f"policies.{asking[index]}.options.model"


def case_of(mission: Mission, episode: int, seed: int) -> dict[str, str]:
    """All that an episode is, as texts: cases are rows of a dataset."""
    asked = mission.model_dump(exclude={"name"}, exclude_defaults=True)
    own = seed + episode
    return {
        "mission": mission.label,
        "episode": str(episode),
        "seed": str(own),
        "map_seed": str(own if mission.map_seed is None else mission.map_seed),
        "asked": to_json(asked).decode(),
    }
