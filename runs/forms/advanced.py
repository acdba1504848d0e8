"""What few runs need to say about their speed: a fold of the new-run form, above any preset."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django.http import QueryDict

from runs.forms.limit_fields import FilledLimit, LimitField
from runs.forms.model_parameters import number_or_text, number_text
from workers.engine.spec.configuration import Configuration, Limits

NUMBERS: dict[str, LimitField] = {
    "tokens_per_minute": LimitField(
        "Tokens a minute", "Of prompts and answers together.", placeholder="no limit"
    ),
    "fail_on_error": LimitField(
        "Pause when trials fail",
        "More than this: a share as in 0.1, or a number of trials above 1.",
        inputmode="decimal",
        placeholder="never",
    ),
    "max_concurrent_candidates": LimitField(
        "Candidates at once", "Only in the schedule two levels, which it implies."
    ),
    "max_concurrent_per_candidate": LimitField(
        "Calls at once of a candidate", "Only in the schedule two levels, which it implies."
    ),
    "candidate_batch_size": LimitField(
        "Candidates a batch",
        "Only in the schedule two levels, which it implies: the next ones begin when all of these "
        "are done.",
    ),
}
OF_RUN = ("fail_on_error",)  # beside the limits in a document, not inside them
ADAPTIVE = {
    "on": "Find the provider's limit",
    "off": "Always as many calls as allowed",
}
SCHEDULES = {
    "work_conserving": "Keep every slot busy",
    "two_level": "Two levels: each candidate has its own slots",
    "sequential": "One call at a time",
}
PRIORITIES = {"low": "Low", "normal": "Normal", "high": "High"}


@dataclass(slots=True)
class AdvancedInput:
    """Every field as text. Without being touched it says nothing."""

    prefix: ClassVar[str] = "advanced"  # or a preset would fill these fields

    numbers: dict[str, str] = field(default_factory=dict)
    adaptive: str = "on"
    schedule: str = "work_conserving"
    priority: str = "normal"
    summary: bool = False

    @property
    def is_given(self) -> bool:
        return bool(self.limits_document() or self.document())

    def fields(self) -> Iterator[FilledLimit]:
        for name, each in NUMBERS.items():
            yield FilledLimit(field_id(name), each, self.numbers.get(name, ""))

    def limits_document(self) -> dict[str, Any]:
        given = {
            name: number_or_text(text)
            for name, text in self.numbers.items()
            if name not in OF_RUN and text.strip()
        }
        if self.adaptive == "off":
            given["adaptive"] = False
        if self.schedule != "work_conserving":
            given["schedule"] = self.schedule
        if self.summary:
            given["performance_summary"] = True
        return given

    def document(self) -> dict[str, Any]:
        """What stands beside the limits."""
        given: dict[str, Any] = {
            name: number_or_text(self.numbers[name])
            for name in OF_RUN
            if self.numbers.get(name, "").strip()
        }
        if self.priority != "normal":
            given["priority"] = self.priority
        return given


def field_id(name: str) -> str:
    return f"id_{AdvancedInput.prefix}-{name}"


def read_advanced(post: QueryDict) -> AdvancedInput:
    prefix = AdvancedInput.prefix
    return AdvancedInput(
        numbers={name: post.get(f"{prefix}-{name}", "") for name in NUMBERS},
        adaptive=post.get(f"{prefix}-adaptive", "on"),
        schedule=post.get(f"{prefix}-schedule", "work_conserving"),
        priority=post.get(f"{prefix}-priority", "normal"),
        summary=f"{prefix}-summary" in post,
    )


def advanced_of(configuration: Configuration) -> AdvancedInput:
    limits = configuration.limits
    numbers = {name: getattr(limits, name) for name in NUMBERS if name not in OF_RUN}
    numbers["fail_on_error"] = configuration.fail_on_error
    return AdvancedInput(
        numbers={name: number_text(number) for name, number in numbers.items()},
        adaptive="on" if limits.adaptive else "off",
        schedule=limits.schedule,
        priority=configuration.priority,
        summary=limits.performance_summary,
    )


def without_advanced(limits: Limits) -> dict[str, Any]:
    """The limits that presets are about."""
    advanced = {name for name in NUMBERS if name not in OF_RUN}
    return limits.model_dump(
        exclude={"preset", "adaptive", "schedule", "performance_summary", *advanced}
    )
