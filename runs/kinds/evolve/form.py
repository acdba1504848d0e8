"""The first prompts, the operators and the strategy of an evolution in the new-run form."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from django.http import QueryDict

from runs.forms.prompts import PromptFields, filled_prompt, posted_prompt
from runs.kinds.evolve.form_options import (
    OPERATOR_FIELDS,
    POSTED_FIELDS,
    chosen_options,
    evolution_texts,
    operator_fields,
    operator_options,
    strategy_fields,
)
from runs.kinds.named_fields import EntryField, StrategyField
from runs.kinds.section import TEMPLATE_ROW, FormSection, Place, next_number, row_numbers
from workers.engine.kinds.evolve import EVOLUTIONS, Evolution
from workers.engine.kinds.evolve.operators import OPERATORS

MOST_PROMPTS = 500
THING = "first_prompt"
USER = "{{question}}"


@dataclass(slots=True)
class FirstPrompt(PromptFields):
    """Only its system message evolves; the user message is one for all."""

    thing: ClassVar[str] = THING


@dataclass(slots=True)
class EvolutionSection(FormSection):
    template: ClassVar[str] = "kinds/evolve/form.html"
    fields: ClassVar[Mapping[str, Place]] = {
        "prompts": ("id_first_prompts", "First prompts"),
        "models": ("id_evolve_models", "Model"),
        "operators": ("id_operators", "Operators"),
        "strategy": ("id_evolution", "Strategy"),
    }
    template_row: ClassVar[FirstPrompt] = FirstPrompt(TEMPLATE_ROW)

    prompts: list[FirstPrompt] = field(default_factory=list)
    user: str = USER
    model: str = ""
    other_model: str = ""
    operators: list[str] = field(default_factory=list)
    operator_texts: dict[str, dict[str, str]] = field(default_factory=dict)  # by operator
    writer: str = ""
    strategy: str = EVOLUTIONS.recommended
    strategy_texts: dict[str, dict[str, str]] = field(default_factory=dict)  # by strategy

    @classmethod
    def blank(cls) -> "EvolutionSection":
        return cls(
            prompts=[FirstPrompt(0, "plain")],
            operators=["reflect", "combine"],
            operator_texts=OPERATOR_FIELDS.texts({"reflect": {"weight": 2}}),
            strategy_texts=evolution_texts(EVOLUTIONS.recommended, {"preset": "reflective"}),
        )

    @classmethod
    def read(cls, post: QueryDict) -> "EvolutionSection":
        chance = [name for name in [post.get("chance", "")] if name]
        return cls(
            prompts=[
                FirstPrompt(number, **posted_prompt(post, THING, number))
                for number in row_numbers(post, "first_prompts", MOST_PROMPTS)
            ],
            user=post.get("first-user", ""),
            model=post.get("evolve_model", ""),
            other_model=post.get("other_evolve_model", "").strip(),
            operators=[*chance, *post.getlist("writers")],
            operator_texts=OPERATOR_FIELDS.posted(post),
            writer=post.get("writer_model", "").strip(),
            strategy=post.get("evolution", EVOLUTIONS.recommended),
            strategy_texts=POSTED_FIELDS.posted(post),
        )

    @classmethod
    def of(cls, configuration: Evolution) -> "EvolutionSection":
        """Writers that differ have no fields here; then the whole is shown as YAML."""
        chosen, writers = configuration.strategy, configuration.writers
        return cls(
            prompts=[
                FirstPrompt(index, **filled_prompt(prompt, THING, index))
                for index, prompt in enumerate(configuration.prompts)
            ],
            user=configuration.prompts[0].user,
            model=configuration.model.label,
            operators=[one.name for one in configuration.operators],
            operator_texts=OPERATOR_FIELDS.texts(
                {o.name: o.options for o in configuration.operators}
            ),
            writer=writers[0][1].label if writers else "",
            strategy=chosen.name,
            strategy_texts=evolution_texts(chosen.name, chosen.options),
        )

    @property
    def filled_prompts(self) -> list[FirstPrompt]:
        return [prompt for prompt in self.prompts if not prompt.is_untouched]

    @property
    def chosen_operators(self) -> list[str]:
        """In the order of the registry, in which they are sent."""
        return [name for name in OPERATORS if name in self.operators]

    def document(self, entry: Callable[[str], Any]) -> dict[str, Any]:
        model = self.other_model or self.model
        options = chosen_options(self.strategy, self.strategy_texts)
        prompts = [replace(one, user=self.user or USER) for one in self.filled_prompts]
        return {
            "prompts": [prompt.prompt_document() for prompt in prompts],
            "models": [entry(model)] if model else [],
            "operators": list(self._operator_entries(entry)),
            "strategy": {"name": self.strategy, **options} if options else self.strategy,
        }

    def _operator_entries(self, entry: Callable[[str], Any]) -> Iterator[Any]:
        writer = entry(self.writer) if self.writer else None
        for name in self.chosen_operators:
            options = operator_options(name, self.operator_texts, writer)
            yield {name: options} if options else name

    def writers(self) -> list[EntryField]:
        return operator_fields(self.operators, self.operator_texts, writing=True)

    def chances(self) -> list[EntryField]:
        return operator_fields(self.operators, self.operator_texts, writing=False)

    @property
    def is_without_chance(self) -> bool:
        return not any(one.is_chosen for one in self.chances())

    def strategies(self) -> list[StrategyField]:
        return strategy_fields(self.strategy, self.strategy_texts)

    def change_rows(self, post: QueryDict) -> bool:
        if "add_first_prompt" in post:
            self.prompts.append(FirstPrompt(next_number(self.prompts)))
        gone = post.get("remove_first_prompt")
        self.prompts = [prompt for prompt in self.prompts if str(prompt.index) != gone]
        return "add_first_prompt" in post or gone is not None

    def find_field(self, parts: Sequence[str]) -> Place | None:
        first, rest = parts[0], parts[1:]
        if first in ("models", "operators") and "parameters" in rest:
            return "id_parameters", "Model parameters"
        if first == "prompts" and rest and rest[0].isdecimal():
            return self._find_in_prompt(int(rest[0]), rest[1:])
        if first == "operators" and len(rest) > 1 and rest[0].isdecimal():
            return self._find_in_operator(int(rest[0]), rest[1])
        if first == "strategy" and rest:
            label = f"Strategy, {rest[0].replace('_', ' ')}"
            return f"id_evolution-{self.strategy}-{rest[0]}", label
        return self.fields.get(first)

    def _find_in_prompt(self, place: int, parts: Sequence[str]) -> Place:
        """Blank rows are not sent, so a place in the document need not be the row's number."""
        if place >= len(self.filled_prompts):
            return self.fields["prompts"]
        part = parts[0] if parts else "system"
        if part == "user":
            return "id_first-user", "User message"
        known = part if part in ("name", "library") else "system"
        return f"{self.filled_prompts[place].field}-{known}", f"First prompt {place + 1}, {known}"

    def _find_in_operator(self, place: int, option: str) -> Place:
        if option == "model":
            return "id_writer_model", "Model that writes"
        if place >= len(self.chosen_operators):
            return self.fields["operators"]
        name = self.chosen_operators[place]
        return f"id_operator-{name}-{option}", f"Operator {name}, {option.replace('_', ' ')}"

    def unlisted(self, offered: Collection[str]) -> list[str]:
        return [self.model] if self.model and self.model not in offered else []

    @classmethod
    def meaning(cls, configuration: Evolution) -> dict[str, Any]:
        """The user message of the first prompt is sent with all."""
        chosen, user = configuration.strategy, configuration.prompts[0].user
        return {
            "strategy": EVOLUTIONS.choose(chosen.name, chosen.options),
            "operators": [(one.name, one.operator) for one in configuration.operators],
            "prompts": [{**one.model_dump(), "user": user} for one in configuration.prompts],
        }
