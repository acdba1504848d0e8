"""The prompts and models of the new-run form."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django.http import QueryDict

from runs.kinds.section import TEMPLATE_ROW, FormSection, Place, next_number, row_numbers
from workers.engine.kinds.evaluate import Evaluation

MOST_PROMPTS = 500


@dataclass(slots=True)
class PromptInput:
    index: int
    name: str = ""
    system: str = ""
    user: str = ""

    @property
    def field(self) -> str:
        return f"id_prompt-{self.index}"

    @property
    def is_blank(self) -> bool:
        return not (self.name or self.system or self.user)


@dataclass(slots=True)
class PromptsSection(FormSection):
    template: ClassVar[str] = "kinds/evaluate/form.html"
    fields: ClassVar[Mapping[str, Place]] = {
        "prompts": ("id_prompts", "Prompts"),
        "models": ("id_models", "Models"),
    }
    template_row: ClassVar[PromptInput] = PromptInput(TEMPLATE_ROW, user="{{question}}")

    prompts: list[PromptInput] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    other_models: str = ""

    @classmethod
    def blank(cls) -> "PromptsSection":
        return cls(prompts=[PromptInput(0, "plain", "", "{{question}}")])

    @classmethod
    def read(cls, post: QueryDict) -> "PromptsSection":
        prompts = [
            PromptInput(
                number,
                name=post.get(f"prompt-{number}-name", "").strip(),
                system=post.get(f"prompt-{number}-system", ""),
                user=post.get(f"prompt-{number}-user", ""),
            )
            for number in row_numbers(post, "prompts", MOST_PROMPTS)
        ]
        return cls(prompts, post.getlist("models"), post.get("other_models", ""))

    @classmethod
    def of(cls, configuration: Evaluation) -> "PromptsSection":
        prompts = [
            PromptInput(index, prompt.name, prompt.system, prompt.user)
            for index, prompt in enumerate(configuration.prompts)
        ]
        return cls(prompts, [model.label for model in configuration.models])

    def document(self, entry: Callable[[str], Any]) -> dict[str, Any]:
        typed = (line.strip() for line in self.other_models.splitlines())
        labels = (*self.models, *(line for line in typed if line))
        return {
            "prompts": [
                {"name": prompt.name, "system": prompt.system, "user": prompt.user}
                for prompt in self.filled_prompts
            ],
            "models": [entry(label) for label in labels],
        }

    @property
    def filled_prompts(self) -> list[PromptInput]:
        return [prompt for prompt in self.prompts if not prompt.is_blank]

    def change_rows(self, post: QueryDict) -> bool:
        if "add_prompt" in post:
            self.prompts.append(PromptInput(next_number(self.prompts), user="{{question}}"))
        gone = post.get("remove_prompt")
        self.prompts = [prompt for prompt in self.prompts if str(prompt.index) != gone]
        return "add_prompt" in post or gone is not None

    def find_field(self, parts: Sequence[str]) -> Place | None:
        """Blank rows are not sent, so a place in the document need not be the row's number."""
        if parts[0] == "models" and "parameters" in parts:
            return "id_parameters", "Model parameters"
        if parts[0] != "prompts" or len(parts) == 1 or not parts[1].isdecimal():
            return self.fields.get(parts[0])
        place = int(parts[1])
        if place >= len(self.filled_prompts):
            return self.fields["prompts"]
        part = parts[2] if len(parts) > 2 and parts[2] in ("name", "system", "user") else "user"
        return f"{self.filled_prompts[place].field}-{part}", f"Prompt {place + 1}, {part}"

    def unlisted(self, offered: Collection[str]) -> list[str]:
        return [model for model in self.models if model not in offered]
