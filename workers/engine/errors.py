"""Everything that can go wrong, as a tree: bad configurations, and calls that fail."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from workers.engine.records import TRUNCATED, Reply


class EngineError(Exception):
    """The root of the tree."""


class Problem(NamedTuple):
    """One thing wrong with what a person gave us: where, what, and what to do."""

    path: str
    message: str


class ConfigurationError(EngineError):
    """A configuration cannot be run. Lists every problem at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(f"{p.path}: {p.message}" for p in self.problems))


class LaneClosed(EngineError):
    """Work was given to a lane that has been closed, or was under way then. It never becomes a
    Score: another worker will do the work."""


class CallError(EngineError):
    """A call that gave no answer. Becomes a Score with an error, never a value.

    `name` is stored and shown; `advice` tells a person what to do about it.
    """

    name: ClassVar[str] = "call_error"
    advice: ClassVar[str] = "See the message, then retry the failed trials."
    is_transient: ClassVar[bool] = False
    most_attempts: ClassVar[int] = 100  # whatever the run allows


class TransientError(CallError):
    """May succeed when tried again."""

    name = "transient"
    is_transient = True


class ServerError(TransientError):
    name = "server_error"
    advice = "The provider failed on its side (5xx). Retry later, or lower Calls at once."


class ConnectionFailed(TransientError):
    name = "connection"
    advice = "The provider could not be reached. Check the endpoint's address and test it."


class TimedOut(TransientError):
    name = "timeout"
    advice = (
        "No full answer within the time limit. Raise Timeout, seconds (timeout_seconds) or lower "
        "Calls at once (max_concurrent)."
    )


class MalformedAnswer(TransientError):
    name = "malformed_answer"
    most_attempts = 3  # each was paid for
    advice = "The answer was not what this kind of endpoint should send. Check the base URL."


class RateLimited(TransientError):
    """The provider said 429. Waiting for it is not an attempt."""

    name = "rate_limited"
    advice = (
        "Lower Calls at once (max_concurrent) or Requests a minute (requests_per_minute), or raise "
        "the provider's quota."
    )

    def __init__(self, message: str, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class Refused(CallError):
    """A permanent refusal: the same call would be refused again."""

    name = "refused"
    advice = "The provider refused the request as it is (4xx). Check model name and parameters."


class BadCredentials(Refused):
    name = "credentials"
    advice = "The provider did not accept the key. Replace the endpoint's key and test it."


class AnswerTooLarge(CallError):
    name = "too_large"
    advice = "The answer was longer than a run may store. Lower Max tokens (max_tokens)."


class FlawedAnswer(CallError):
    """An answer that is no whole text. It is paid for and its text is kept and shown, but it is
    scored only if the configuration's `answers` says so. Asked again it would end the same way."""

    def __init__(self, message: str, reply: Reply) -> None:
        super().__init__(message)
        self.reply = reply


class AnswerCut(FlawedAnswer):
    name = TRUNCATED
    advice = (
        "Raise max_tokens in the model's parameters, or set answers.score_truncated: true to "
        "score such answers as they are."
    )


class AnswerFiltered(FlawedAnswer):
    """By the provider's content filter, or a refusal of the model's own."""

    name = "filtered"
    advice = (
        "Change the prompt or the case, or set answers.score_filtered: true to score what arrived."
    )


class NoText(FlawedAnswer):
    """An empty answer, or a tool call where no tools were declared."""

    name = "no_text"
    advice = (
        "Ask for an answer in words. If a tool call is wanted, declare the tools in the prompt: "
        "then the call is scored. Or set answers.score_no_text: true to score it as it is."
    )


class ForbiddenAddress(CallError):
    name = "forbidden_address"
    advice = (
        "The endpoint's address may not be called. If it is private, an admin can allow it on the "
        "endpoint's page."
    )


class PrivateAddress(ForbiddenAddress):
    """Nothing is wrong with it, except that nobody has allowed it."""

    def __init__(self, place: str, kind: str, advice: str) -> None:
        super().__init__(f"{place} is at a private address ({kind}). {advice}".strip())
        self.place = place


class BadRecord(CallError):
    name = "bad_record"
    advice = (
        "The trial's record was not kept. Let its target record less, and only what JSON can hold."
    )


class ScorerFailed(CallError):
    name = "scorer_error"
    advice = (
        "The answer arrived but could not be scored. Mend the dataset or the scorer, then "
        "duplicate the run: cached answers cost nothing. If a judge failed, retry: it judges the "
        "stored answer again."
    )


class NotScored(ScorerFailed):
    """Every scorer left the answer out. Without a value it is no zero, but an error."""

    name = "not_scored"
    advice = (
        "No scorer of the run had anything to say about this answer. See what each of them said; "
        "add a scorer that judges every answer, or mend what they need, then retry."
    )


class NoRoute(CallError):
    """A router's answer named none of its routes, and it has no default."""

    name = "no_route"
    advice = "The router's answer named none of its routes. Change its prompt, or give a default."


class AgentFailed(CallError):
    """An installed agent raised an exception, or answered with something other than text."""

    name = "agent_error"
    advice = "The agent of this pipeline failed by itself. See its message, then fix the agent."


class WorkFailed(CallError):
    """A function raised an exception in the process lane, or cannot be sent to a process."""

    name = "work_error"
    advice = (
        "The code that ran in a process of its own failed. See its message, then mend the code."
    )


class ProcessDied(CallError):
    """Not transient: code that crashes a process crashes the next one, too."""

    name = "process_died"
    advice = "Its process crashed or was killed, perhaps for want of memory. See the worker's log."


class ResultTooLarge(AnswerTooLarge):
    """The process lane's size cap. Models and their max_tokens have no part in it."""

    name = "result_too_large"
    advice = "The result exceeded the size cap, and its process was ended. Record less."


class BadMission(CallError):
    """An environment cannot be opened as the mission says, or a policy does not fit it."""

    name = "bad_mission"
    advice = "This mission cannot be played as it is configured. See the message, then change it."


class PolicyFailed(CallError):
    """A policy raised an exception, or gave something that is no action."""

    name = "policy_error"
    advice = "The policy failed by itself. See its message, then mend the policy."


class EnvironmentFailed(CallError):
    """An environment raised an exception, or gave a reward that is no number."""

    name = "environment_error"
    advice = "The environment failed by itself. See its message; retry, or mend the environment."


class Poison(CallError):
    name = "poison"
    advice = "Working on it ended its worker's process. See the worker's log, then retry the trial."


CALL_ERRORS: dict[str, type[CallError]] = {
    error.name: error
    for error in (
        ServerError,
        ConnectionFailed,
        TimedOut,
        MalformedAnswer,
        RateLimited,
        Refused,
        BadCredentials,
        AnswerTooLarge,
        AnswerCut,
        AnswerFiltered,
        NoText,
        ForbiddenAddress,
        BadRecord,
        ScorerFailed,
        NotScored,
        NoRoute,
        AgentFailed,
        WorkFailed,
        ProcessDied,
        ResultTooLarge,
        BadMission,
        PolicyFailed,
        EnvironmentFailed,
        Poison,
    )
}
