"""What the trial page says of its calls: their parameters, and where an answer was cut."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from runs.models import Score
from runs.selectors.runs.costs import judge_cost_text
from runs.selectors.scores.trials import judge_calls, step_calls
from workers.engine.calling.flaws import length_limit
from workers.engine.json_text import to_json
from workers.engine.records import BATCHED, JOINED, TRUNCATED, Attempt, StepCall

DEFAULTS = "the model's own defaults"
ATTEMPT_WORDS = {
    "call": "Call",
    "cache hit": "Found in the cache",
    JOINED: "Shared the answer of an identical call",
    BATCHED: "Sent in one request with another text",
}

Parameters = Mapping[str, Any]


class ShownCall(NamedTuple):
    """A call of a pipeline as the page shows it."""

    call: StepCall
    parameters: str
    cut: str  # where its answer was cut; empty if it was not


class ShownAttempt(NamedTuple):
    attempt: Attempt
    words: str


def shown_calls(score: Score) -> list[ShownCall]:
    asked = parameters_by_call(score.candidate.document)
    return [
        ShownCall(
            call,
            parameters_text(asked.get(call.step, {})),
            cut_text(asked.get(call.step, {})) if call.truncated else "",
        )
        for call in step_calls(score)
    ]


def judges_of(score: Score) -> dict[str, Any]:
    return {
        "judge_calls": judge_calls(score),
        "judge_use": (score.judging or {}).get("use", {}),
        "judge_cost": judge_cost_text(score),
    }


def shown_attempts(score: Score) -> list[ShownAttempt]:
    """Of the target, then of the judges."""
    judges = (score.judging or {}).get("attempts", ())
    attempts = [Attempt(*row) for row in (*score.attempts, *judges)]
    return [ShownAttempt(attempt, attempt_words(attempt)) for attempt in attempts]


def attempt_words(attempt: Attempt) -> str:
    """Of which step, what was done, and the error if it failed."""
    step = f"{attempt.step}: " if attempt.step else ""
    failure = "" if attempt.outcome == "ok" else f": {attempt.outcome.replace('_', ' ')}"
    return f"{step}{ATTEMPT_WORDS.get(attempt.what, attempt.what)}{failure}"


def trial_parameters(score: Score) -> str:
    """Of a single call; a pipeline has its own for each step."""
    model = score.candidate.document.get("model")
    return parameters_text(model["parameters"]) if model else ""


def cut_note(score: Score) -> str:
    """Why an answer that was scored is not whole; empty if it is. Of a failed trial the error
    says it."""
    if not score.truncated or score.error_class == TRUNCATED:
        return ""
    document = score.candidate.document
    if "model" in document:
        return cut_text(document["model"]["parameters"])
    cuts = [shown.cut for shown in shown_calls(score) if shown.cut]
    return cuts[-1] if cuts else cut_text({})


def parameters_by_call(document: Mapping[str, Any]) -> dict[str, Parameters]:
    """By the names that the calls of a pipeline are stored under: `step`, or `step.call` of an
    agent."""
    found: dict[str, Parameters] = {}
    for step in document.get("steps", ()):
        if "agent" not in step:
            found[step["name"]] = step["model"]["parameters"]
        for call in step.get("calls", ()):
            found[f"{step['name']}.{call['name']}"] = call["model"]["parameters"]
    return found


def parameters_text(parameters: Parameters) -> str:
    return ", ".join(f"{name} {value_text(value)}" for name, value in parameters.items()) or (
        DEFAULTS
    )


def value_text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value).decode()


def cut_text(parameters: Parameters) -> str:
    limit = length_limit(parameters)
    if not limit:
        return (
            "Cut at the model's own length limit: the answer is not complete. "
            "Set max_tokens in the model's parameters to allow a longer one."
        )
    return (
        f"Cut at {limit} ({value_text(parameters[limit])}): the answer ended at its length limit. "
        f"Raise {limit}."
    )
