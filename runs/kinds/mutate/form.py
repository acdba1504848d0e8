"""The query, the models, the operators and the strategy of a mutation in the new-run form."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django.http import QueryDict

from runs.forms.model_parameters import number_or_text, number_text
from runs.kinds.mutate.form_options import (
    LEARNER_FIELDS,
    OPERATOR_FIELDS,
    chosen_options,
    operator_entries,
    preset_fields,
    strategy_fields,
)
from runs.kinds.named_fields import EntryField, Preset, StrategyField
from runs.kinds.section import FormSection, Place
from workers.engine.kinds.mutate import Mutation
from workers.engine.kinds.mutate.goals import GOALS
from workers.engine.kinds.mutate.learners import LEARNERS
from workers.engine.kinds.mutate.operators import OPERATORS, USUAL

QUERY = "{{question}}"
NUMBERS = {"max_steps": "10", "carry_above": "0.5", "success_above": "0.7"}
MORE_NUMBERS = {"observation_size": "128"}
ROLES = ("target", "mutator", "judge", "embedder")
CARRY = {
    "rewarded": "The rewritten query, if its reward is high enough",
    "always": "The rewritten query, always",
    "never": "The query as it was",
}
LABELS = {
    "max_steps": "Steps of an episode",
    "carry_above": "High enough is above",
    "success_above": "A success is above",
    "observation_size": "Numbers that the policy sees",
}


@dataclass(slots=True)
class MutationSection(FormSection):
    template: ClassVar[str] = "kinds/mutate/form.html"
    fields: ClassVar[Mapping[str, Place]] = {
        "query": ("id_mutate_query", "Query"),
        "system": ("id_mutate_system", "System message"),
        "goal": ("id_goal", "Goal"),
        "roles": ("id_roles", "Models"),
        "operators": ("id_rewritings", "Rewritings"),
        "strategy": ("id_learner", "Strategy"),
        "carry": ("id_carry", "The next step goes on from"),
        "use_batching": ("id_use_batching", "Environments at once"),
        **{name: (f"id_mutate_{name}", label) for name, label in LABELS.items()},
    }
    fixed: ClassVar[Mapping[str, Any]] = {"repeats": 1}  # a query comes back with the updates

    query: str = QUERY
    system: str = ""
    goal: str = "turns_wrong"
    roles: dict[str, str] = field(default_factory=dict)  # the label of each model, by role
    operators: list[str] = field(default_factory=list)
    operator_texts: dict[str, dict[str, str]] = field(default_factory=dict)  # by operator
    strategy: str = LEARNERS.recommended
    preset: str = ""
    strategy_texts: dict[str, dict[str, str]] = field(default_factory=dict)  # by strategy
    carry: str = "rewarded"
    numbers: dict[str, str] = field(default_factory=dict)  # those of the schema itself
    use_batching: bool = True

    @classmethod
    def blank(cls) -> "MutationSection":
        return cls(
            operators=list(USUAL),
            operator_texts=OPERATOR_FIELDS.texts({}),
            strategy_texts=LEARNER_FIELDS.chosen_texts(LEARNERS.recommended, {}),
        )

    @classmethod
    def read(cls, post: QueryDict) -> "MutationSection":
        return cls(
            query=post.get("mutate_query", ""),
            system=post.get("mutate_system", ""),
            goal=post.get("goal", "turns_wrong"),
            roles={role: post.get(f"role_{role}", "").strip() for role in ROLES},
            operators=post.getlist("rewritings"),
            operator_texts=OPERATOR_FIELDS.posted(post),
            strategy=post.get("learner", LEARNERS.recommended),
            preset=post.get("learner_preset", ""),
            strategy_texts=LEARNER_FIELDS.posted(post),
            carry=post.get("carry", "rewarded"),
            numbers={name: post.get(f"mutate_{name}", "").strip() for name in LABELS},
            use_batching="one_at_a_time" not in post,
        )

    @classmethod
    def of(cls, configuration: Mutation) -> "MutationSection":
        """Parameters of single models have no fields here; then the whole is shown as YAML."""
        chosen, given = configuration.strategy, configuration.roles
        models = {role: getattr(given, role) for role in ROLES}
        usual = {**NUMBERS, **MORE_NUMBERS}
        numbers = {name: number_text(getattr(configuration, name)) for name in LABELS}
        return cls(
            query=configuration.query,
            system=configuration.system,
            goal=configuration.goal,
            roles={role: model.label if model else "" for role, model in models.items()},
            operators=[one.name for one in configuration.operators],
            operator_texts=OPERATOR_FIELDS.texts(
                {o.name: o.options for o in configuration.operators}
            ),
            strategy=chosen.name,
            strategy_texts=LEARNER_FIELDS.chosen_texts(chosen.name, chosen.options),
            carry=configuration.carry,
            numbers={name: "" if text == usual[name] else text for name, text in numbers.items()},
            use_batching=configuration.use_batching,
        )

    @property
    def chosen_operators(self) -> list[str]:
        """In the order of the registry, in which they are sent."""
        return [name for name in OPERATORS if name in self.operators]

    def document(self, entry: Callable[[str], Any]) -> dict[str, Any]:
        options = chosen_options(self.strategy, self.preset, self.strategy_texts)
        return {
            "query": self.query or QUERY,
            **({"system": self.system} if self.system else {}),
            "goal": self.goal,
            "roles": self._roles(entry),
            "operators": operator_entries(self.chosen_operators, self.operator_texts),
            "strategy": {"name": self.strategy, **options} if options else self.strategy,
            **({"carry": self.carry} if self.carry != "rewarded" else {}),
            **{name: number_or_text(text) for name, text in self.numbers.items() if text},
            **({} if self.use_batching else {"use_batching": False}),
        }

    def _roles(self, entry: Callable[[str], Any]) -> dict[str, Any]:
        """An embedder takes none of the parameters of models that write."""
        given = {role: label for role, label in self.roles.items() if label}
        return {
            role: label if role == "embedder" else entry(label) for role, label in given.items()
        }

    def rewritings(self) -> list[EntryField]:
        return OPERATOR_FIELDS.entries(self.operators, self.operator_texts)

    def strategies(self) -> list[StrategyField]:
        return strategy_fields(self.strategy, self.preset, self.strategy_texts)

    def presets(self) -> list[Preset]:
        return preset_fields(self.preset)

    @property
    def goals(self) -> list[tuple[str, str]]:
        return [(name, goal.summary) for name, goal in GOALS.items()]

    @property
    def carries(self) -> list[tuple[str, str]]:
        return list(CARRY.items())

    def more_numbers(self) -> list[tuple[str, str, str, str]]:
        """Id, label, what was typed, and what an empty field stands for."""
        usual = {**NUMBERS, **MORE_NUMBERS}
        return [
            (f"id_mutate_{name}", label, self.numbers.get(name, ""), usual[name])
            for name, label in LABELS.items()
        ]

    @property
    def is_more_used(self) -> bool:
        changed = any(self.numbers.values()) or self.carry != "rewarded"
        return changed or bool(self.system) or not self.use_batching

    def change_rows(self, post: QueryDict) -> bool:
        return False

    def find_field(self, parts: Sequence[str]) -> Place | None:
        first, rest = parts[0], parts[1:]
        if first == "roles" and rest and rest[0] in ROLES:
            is_parameter = "parameters" in rest
            place = ("id_parameters", "Model parameters")
            return place if is_parameter else (f"id_role_{rest[0]}", rest[0].capitalize())
        if first == "operators" and len(rest) > 1 and rest[0].isdecimal():
            return self._find_in_operator(int(rest[0]), rest[1])
        if first == "strategy" and rest:
            label = f"Strategy, {rest[0].replace('_', ' ')}"
            return f"id_learner-{self.strategy}-{rest[0]}", label
        return self.fields.get(first)

    def _find_in_operator(self, place: int, option: str) -> Place:
        if place >= len(self.chosen_operators):
            return self.fields["operators"]
        name = self.chosen_operators[place]
        return f"id_rewriting-{name}-{option}", f"{name}, {option.replace('_', ' ')}"

    @classmethod
    def meaning(cls, configuration: Mutation) -> dict[str, Any]:
        """A strategy and operators with all their options; the order of operators decides what is
        drawn, so that it is a part of it. `reward` has done its part when scorers are there."""
        chosen = configuration.strategy
        return {
            "strategy": LEARNERS.choose(chosen.name, chosen.options),
            "operators": [(one.name, one.operator) for one in configuration.operators],
            "reward": None,
        }
