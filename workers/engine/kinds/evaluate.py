"""Kind `evaluate`: every prompt with every model on every case."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from workers.engine.json_text import digest
from workers.engine.records import Candidate
from workers.engine.spec.configuration import (
    CASES,
    KIND,
    Configuration,
    DatasetChoice,
    ModelChoice,
    Prompt,
    Template,
    check_models,
    refuse_twins,
)
from workers.engine.spec.prompts import PromptParts
from workers.engine.strategies import Grid, Strategy
from workers.engine.targets import ChatTarget, Target


class Evaluation(Configuration):
    """Kind `evaluate`: every prompt with every model on every case."""

    learns: ClassVar[bool] = Grid.learns
    target: ClassVar[type[Target]] = ChatTarget

    kind: Literal["evaluate"] = Field(description=KIND)
    dataset: DatasetChoice = Field(description=CASES)
    prompts: Annotated[list[Prompt], Field(min_length=1, max_length=500)] = Field(
        description="The prompts to compare. Each is tried with each model."
    )
    models: Annotated[list[ModelChoice], Field(min_length=1, max_length=100)] = Field(
        description="The models to compare."
    )

    @field_validator("prompts")
    @classmethod
    def check_prompt_names(cls, prompts: list[Prompt]) -> list[Prompt]:
        refuse_twins(prompt.name for prompt in prompts)
        return prompts

    @field_validator("models")
    @classmethod
    def check_model_names(cls, models: list[ModelChoice]) -> list[ModelChoice]:
        return check_models(models)

    @property
    def called(self) -> list[ModelChoice]:
        return self.models

    @property
    def candidates(self) -> int:
        return len(self.prompts) * len(self.models)

    def written_prompts(self) -> Iterator[tuple[str, PromptParts]]:
        return ((f"prompts.{index}", prompt) for index, prompt in enumerate(self.prompts))

    def templates(self) -> Iterator[Template]:
        for path, prompt in self.written_prompts():
            yield from prompt.templates(path)

    def make_candidates(self) -> list[Candidate]:
        """In the order given. A model's parameters are shown only if it appears twice: otherwise
        the name stays when they are changed, and runs can be compared."""
        labels = Counter(model.label for model in self.models)
        candidates = []
        for prompt in self.prompts:
            for model in self.models:
                document = {"prompt": prompt.document(), "model": model.model_dump()}
                label = model.full_label if labels[model.label] > 1 else model.label
                name = f"{prompt.name} · {label}"
                candidates.append(Candidate(digest(document)[:16], name, document))
        return candidates

    def narrow(
        self, document: Mapping[str, Any], candidates: Collection[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """The prompts and models that occur among them; each prompt is tried with each model."""
        prompts = {candidate["prompt"]["name"] for candidate in candidates}
        models = [candidate["model"] for candidate in candidates]
        return {
            **document,
            "prompts": [
                written
                for written, prompt in zip(document["prompts"], self.prompts, strict=True)
                if prompt.name in prompts
            ],
            "models": [
                written
                for written, model in zip(document["models"], self.models, strict=True)
                if model.model_dump() in models
            ],
        }

    def open_strategy(self, cases: int) -> Strategy:
        by_candidate = self.limits.schedule == "two_level"
        candidates = self.make_candidates()
        return Grid(candidates, cases, self.repeats, self.seed, by_candidate=by_candidate)
