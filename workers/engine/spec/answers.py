"""Which answers are scored that are no whole texts."""

from typing import Annotated

from pydantic import Field

from workers.engine.spec.model_choice import Strict

Switch = Annotated[bool, Field(strict=True)]


class Answers(Strict):
    """Answers that were cut off, withheld, or have no text. Their trials fail, unless they are to
    be scored as they are."""

    score_truncated: Switch = Field(
        False, description="Score answers that were cut off at max_tokens, or at the model's limit."
    )
    score_filtered: Switch = Field(
        False, description="Score what a content filter, or a refusal of the model, left."
    )
    score_no_text: Switch = Field(
        False, description="Score empty answers, and tool calls where no tools were declared."
    )

    @property
    def accepted(self) -> frozenset[str]:
        """The classes of errors that are none here."""
        return frozenset(name.removeprefix("score_") for name, is_on in self if is_on)
