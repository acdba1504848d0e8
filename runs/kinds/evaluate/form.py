"""The prompts and models of the new-run form."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django.http import QueryDict

from runs.forms.prompts import PromptFields, filled_prompt, posted_prompt
from runs.kinds.section import TEMPLATE_ROW, FormSection, Place, next_number, row_numbers
from workers.engine.kinds.evaluate import Evaluation

MOST_PROMPTS = 500


class PromptInput(PromptFields):
    __slots__ = ()

    @property
    def is_blank(self) -> bool:
        return self.is_untouched and not self.user


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
        return cls(prompts=[PromptInput(0, "plain", user="{{question}}")])

    @classmethod
    def read(cls, post: QueryDict) -> "PromptsSection":
        prompts = [
            PromptInput(number, **posted_prompt(post, "prompt", number))
            for number in row_numbers(post, "prompts", MOST_PROMPTS)
        ]
        return cls(prompts, post.getlist("models"), post.get("other_models", ""))

    @classmethod
    def of(cls, configuration: Evaluation) -> "PromptsSection":
        prompts = [
            PromptInput(index, **filled_prompt(prompt, "prompt", index))
            for index, prompt in enumerate(configuration.prompts)
        ]
        return cls(prompts, [model.label for model in configuration.models])

    def document(self, entry: Callable[[str], Any]) -> dict[str, Any]:
        typed = (line.strip() for line in self.other_models.splitlines())
        labels = (*self.models, *(line for line in typed if line))
        return {
            "prompts": [prompt.prompt_document() for prompt in self.filled_prompts],
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
        changes = [prompt.change_messages(post) for prompt in self.prompts]
        return "add_prompt" in post or gone is not None or any(changes)

    def find_field(self, parts: Sequence[str]) -> Place | None:
        """Blank rows are not sent, so a place in the document need not be the row's number."""
        if parts[0] == "models" and "parameters" in parts:
            return "id_parameters", "Model parameters"
        if parts[0] != "prompts" or len(parts) == 1 or not parts[1].isdecimal():
            return self.fields.get(parts[0])
        place = int(parts[1])
        if place >= len(self.filled_prompts):
            return self.fields["prompts"]
        found = self.filled_prompts[place].find_part(parts[2:])
        return found, f"Prompt {place + 1}, {found.rpartition('-')[2].replace('_', ' ')}"

    def unlisted(self, offered: Collection[str]) -> list[str]:
        return [model for model in self.models if model not in offered]
