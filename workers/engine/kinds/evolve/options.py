"""The options of the strategies that evolve prompts, by the names that their sources use."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from workers.engine.kinds.evolve.fitness import Weights
from workers.engine.kinds.evolve.problems import STAGES, cases_in
from workers.engine.spec.model_choice import Strict
from workers.engine.spec.parts import NotSwitch

PresetName = Literal[
    "quick_test",
    "standard",
    "thorough",
    "high_mutation",
    "large_population",
    "ablation_no_crossover",
    "ablation_no_mutation",
    "random_search",
    "reflective",
]
PRESETS: dict[str, dict[str, Any]] = {
    "quick_test": {"population_size": 10, "max_generations": 15},
    "standard": {},
    "thorough": {"population_size": 100, "max_generations": 200, "elite_size": 10},
    "high_mutation": {"mutation_rate": 0.4},
    "large_population": {"population_size": 150, "max_generations": 50},
    "ablation_no_crossover": {"crossover_rate": 0.0},
    "ablation_no_mutation": {"mutation_rate": 0.0},
    "random_search": {"is_random_search": True},
    # One child at a time: each is written on what the ones before have taught.
    "reflective": {
        "population_size": 2,
        "max_generations": 40,
        "elite_size": 1,
        "kinship": 0.03,
        "fill": "none",
        "target_fitness": None,
        "patience": None,
        "least_diversity": 0.0,  # when all children are dropped, one prompt is left to go on from
        "fitness": Weights.of_score_alone().model_dump(),
    },
}
REFLECTIVE = ["reflect"]  # the operators of that preset
Rate = Annotated[float, Field(ge=0, le=1), NotSwitch]
NULLS = frozenset({"target_fitness", "patience"})  # where null says something


class EvolutionOptions(Strict):
    """What every strategy that evolves prompts can be told."""

    operators: ClassVar[list[Any]] = ["words"]
    """Those it has if the configuration names none."""

    population_size: Annotated[int, Field(ge=2, le=1000), NotSwitch] = Field(
        50, description="Genomes in a generation."
    )
    elite_size: Annotated[int, Field(ge=0, le=100), NotSwitch] = Field(
        5, description="The best of a generation, which live on as they are."
    )
    crossover_rate: Rate = Field(0.8, description="How often a child has two parents.")
    mutation_rate: Rate = Field(
        0.2, description="How often a child is changed, and how many of its words then."
    )
    patience: Annotated[int, Field(ge=1, le=1000), NotSwitch] | None = Field(
        20,
        description="It ends after so many generations without a gain of 0.01, or on a plateau of "
        "ten. null: neither.",
    )
    fill: Literal["mutated", "random", "none"] = Field(
        "mutated",
        description="What fills up the first generation: changed copies of the first prompts, or "
        "words at random. none: it is the first prompts alone, all of them.",
    )

    @model_validator(mode="before")
    @classmethod
    def fit_elite(cls, value: Any) -> Any:
        """Of a small population at most half live on, unless it is said how many."""
        size = value.get("population_size") if isinstance(value, Mapping) else None
        if not isinstance(size, int) or value.get("elite_size") is not None:
            return value
        usual: int = cls.model_fields["elite_size"].default
        return {**value, "elite_size": min(usual, size // 2)}

    @model_validator(mode="after")
    def check_elite(self) -> "EvolutionOptions":
        if self.elite_size >= self.population_size:
            raise ValueError(
                f"elite_size is {self.elite_size}, of a population_size of {self.population_size}: "
                "nobody new would be born. Give a smaller one."
            )
        return self

    @property
    @abstractmethod
    def most_generations(self) -> int:
        """With the first: how often children may be born, and one."""

    @property
    def most_measured(self) -> int:
        """Points of the curve of fitness at most."""
        return self.most_generations

    @abstractmethod
    def first_trials(self, cases: int, prompts: int) -> int:
        """Those of the first generation, with one repeat, of so many first prompts."""

    @abstractmethod
    def most_trials(self, cases: int, prompts: int) -> int:
        """With one repeat."""

    def in_first(self, prompts: int) -> int:
        """Genomes of the first generation."""
        return prompts if self.fill == "none" else self.population_size

    @property
    def most_born(self) -> int:
        """Children of all generations after the first."""
        return (self.population_size - self.elite_size) * (self.most_generations - 1)


class GeneticOptions(EvolutionOptions):
    preset: PresetName | None = Field(
        None, description="Where the values come from that are not given here; standard if empty."
    )
    max_generations: Annotated[int, Field(ge=1, le=1000), NotSwitch] = Field(
        100, description="Generations at most."
    )
    selection: Literal["tournament", "roulette", "rank", "sus", "elitist"] = Field(
        "tournament", description="How parents are chosen."
    )
    tournament_size: Annotated[int, Field(ge=2, le=100), NotSwitch] = Field(
        3, description="Of how many that are drawn the best becomes a parent."
    )
    crossover: Literal["single_point", "two_point", "uniform", "blend"] = Field(
        "single_point", description="How two parents become two children."
    )
    adaptive: Annotated[bool, Field(strict=True)] = Field(
        True, description="Change the rates when the genomes are alike or nothing gets better."
    )
    target_fitness: Annotated[float, Field(ge=0, le=1), NotSwitch] | None = Field(
        0.85, description="It ends when the best reaches this. null: no such end."
    )
    least_diversity: Rate = Field(0.05, description="It ends when the genomes are more alike.")
    all_cases: Annotated[bool, Field(strict=True)] = Field(
        False,
        description="Try every generation on all cases. Else the first eleven generations see half "
        "of them, the next ten three quarters; each set contains the one before.",
    )
    fitness: Weights = Field(Weights(), description="What makes a prompt fit, and by how much.")
    gate: Annotated[int, Field(ge=0, le=1000), NotSwitch] = Field(
        0,
        description="A child that a model wrote is first tried on so many cases, and on the rest "
        "only if it is no worse there than its parent. 0: every child is tried on all.",
    )
    kinship: Rate = Field(
        0.0,
        description="How far the score of a child is from that of its parents, as a rule. Prompts "
        "are then ranked by what their own answers and those of their relatives say together, all "
        "that were ever measured, and the first one is the parent. 0: by their fitness alone.",
    )
    max_evaluations: Annotated[int, Field(ge=1, le=100_000_000), NotSwitch] | None = Field(
        None, description="No generation begins after so many trials, proposals among them."
    )
    is_random_search: Annotated[bool, Field(strict=True)] = Field(
        False, description="Every genome is made up anew: what evolution must beat."
    )

    @model_validator(mode="before")
    @classmethod
    def fill_from_preset(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        given = {name: one for name, one in value.items() if one is not None or name in NULLS}
        preset = PRESETS.get(str(given.get("preset")), {})
        if "population_size" in given:  # another size has another elite
            preset = {name: one for name, one in preset.items() if name != "elite_size"}
        return {**preset, **given}

    @property
    def most_generations(self) -> int:
        return self.max_generations

    def first_trials(self, cases: int, prompts: int) -> int:
        stages = () if self.all_cases else STAGES
        return self.in_first(prompts) * cases_in(0, cases, stages)

    def most_trials(self, cases: int, prompts: int) -> int:
        every = (self.in_first(prompts) + self.most_born) * cases
        return max(self.first_trials(cases, prompts), every)


class HybridOptions(EvolutionOptions):
    """Actor and critic: K prompts answer each query, their scores move their fitness, and the
    population evolves now and then."""

    operators: ClassVar[list[Any]] = ["sections"]

    population_size: Annotated[int, Field(ge=2, le=1000), NotSwitch] = Field(
        10, description="Prompts that live at the same time."
    )
    elite_size: Annotated[int, Field(ge=0, le=100), NotSwitch] = Field(
        2, description="The best, which live on as they are when the population evolves."
    )
    crossover_rate: Rate = Field(
        0.5, description="How likely each section of a child is that of its first parent."
    )
    mutation_rate: Rate = Field(0.3, description="How likely each section of a child is changed.")
    patience: Annotated[int, Field(ge=1, le=1000), NotSwitch] | None = Field(
        None,
        description="It ends after so many evolutions in which the best gained less than "
        "min_improvement. null: it does not end early.",
    )
    min_improvement: Rate = Field(0.01, description="A gain that counts, for the patience.")
    num_candidates: Annotated[int, Field(ge=1, le=100), NotSwitch] = Field(
        5, title="K: prompts per query", description="Prompts that answer each query: the fittest."
    )
    update_interval: Annotated[int, Field(ge=1, le=10_000), NotSwitch] = Field(
        10,
        title="M: queries per episode",
        description="Queries of an episode. They are asked at once; then fitness is updated.",
    )
    evolution_interval: Annotated[int, Field(ge=1, le=1000), NotSwitch] = Field(
        5, title="E: episodes per evolution", description="Episodes after which the prompts evolve."
    )
    exploration: Rate = Field(
        0.1, description="How often one of the K is any other prompt instead of a fit one."
    )
    max_episodes: Annotated[int, Field(ge=1, le=100_000), NotSwitch] = Field(
        50, description="Episodes at most."
    )

    @property
    def most_generations(self) -> int:
        return -(-self.max_episodes // self.evolution_interval)

    @property
    def most_measured(self) -> int:
        return self.max_episodes

    def first_trials(self, cases: int, prompts: int) -> int:
        queries = min(self.update_interval, cases)
        return min(self.num_candidates, self.in_first(prompts)) * queries

    def most_trials(self, cases: int, prompts: int) -> int:
        """Nobody answers a query twice."""
        every = (self.in_first(prompts) + self.most_born) * cases
        most = self.num_candidates * self.update_interval * self.max_episodes
        return max(self.first_trials(cases, prompts), min(every, most))
