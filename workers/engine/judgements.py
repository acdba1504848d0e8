"""One scorer judges one answer, here or in a child process; what it gives is kept within bounds."""

from numbers import Real
from typing import Any, cast

from workers.engine.errors import CallError, ProcessDied, ScorerFailed, TimedOut
from workers.engine.lanes import ProcessShare
from workers.engine.providers.answers import clean_text
from workers.engine.records import Case, Facts, Judgement
from workers.engine.scorers.base import LONGEST_NAME, BaseScorer, FactScorer, Scorer

LOOP_STEPS = 200_000  # that a scorer may take on the event loop: at the worst some 4 ms
LONGEST_MESSAGE = 500  # characters of what went wrong
LONGEST_REASON = 500  # characters; lists and exports read scores by the hundred
ALLOWED = "A score is a number from 0 to 1, or None for “not scored”."


def judge_if_quick(scorer: Scorer, answer: str, case: Case, facts: Facts) -> Judgement | None:
    """None if it may take so long that the event loop must not wait for it."""
    try:
        if scorer.steps(answer, case) > LOOP_STEPS:
            return None
        return checked(scorer, said_by(scorer, answer, case, facts))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a scorer's failure is data
        raise failure_of(scorer, error) from None


def said_by(scorer: Scorer, answer: str, case: Case, facts: Facts) -> object:
    if scorer.wants_facts:
        return cast(FactScorer, scorer).judge_facts(answer, case, facts)
    return scorer.judge(answer, case)


async def judge_apart(
    processes: ProcessShare, scorer: Scorer, answer: str, case: Case, facts: Facts
) -> Judgement:
    """In a process of its own, which is killed when it is late."""
    found: Judgement = await apart(processes, scorer, judge_in_child, scorer, answer, case, facts)
    return found


async def apart(
    processes: ProcessShare, scorer: BaseScorer, function: Any, *arguments: object
) -> Any:
    """Whatever becomes of the process is a failure of the scorer."""
    try:
        found = await processes.call(
            function,
            *arguments,
            timeout_seconds=scorer.judging_seconds,
            modules=frozenset({__name__, type(scorer).__module__}),
        )
    except CallError as error:
        raise ScorerFailed(describe_end(scorer, error)) from None
    if isinstance(found, str):
        raise ScorerFailed(found)
    return found


def judge_in_child(scorer: Scorer, answer: str, case: Case, facts: Facts) -> Judgement | str:
    """Or why it cannot be judged, as text: an exception need not survive the way back."""
    try:
        return checked(scorer, said_by(scorer, answer, case, facts))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a scorer's failure is data
        return str(failure_of(scorer, error))


def checked(scorer: BaseScorer, given: object) -> Judgement:
    """A judgement that must not spoil the counters of its run, nor the lists that show it."""
    plain = cast(Judgement, given) if is_plain(given) else bounded(scorer, given)
    return settled(scorer, plain)


def settled(scorer: BaseScorer, said: Judgement) -> Judgement:
    """With what a configuration may say about any scorer. First the threshold, then `not`: with
    both, what stays below the threshold is right."""
    if scorer.threshold is None and not scorer.is_negated and not scorer.called:
        return said
    value, passed, reason = said.value, said.passed, said.reason
    if value is not None and (least := scorer.least) is not None:
        passed = value >= least
    if value is not None and scorer.is_negated:
        value, passed = 1.0 - value, None if passed is None else not passed
        reason = shortened(f"not: {reason}", LONGEST_REASON)
    return said._replace(name=scorer.called or said.name, value=value, passed=passed, reason=reason)


def bounded(scorer: BaseScorer, given: object) -> Judgement:
    who = f"The scorer {scorer.own_name}"
    if not isinstance(given, Judgement):
        raise ScorerFailed(f"{who} gave {type(given).__name__}, no verdict.")
    fields: tuple[Any, ...] = given
    name, value, passed, *texts, votes = fields
    if value is not None and not is_number(value):
        raise ScorerFailed(f"{who} gave {type(value).__name__} as its value. {ALLOWED}")
    if value is not None and not 0 <= value <= 1:  # nor is NaN
        raise ScorerFailed(f"{who} gave {value}. {ALLOWED}")
    if not all(isinstance(text, str) for text in (name, *texts)):
        raise ScorerFailed(f"{who} gave a name, reason, label or error that is no text.")
    if not all(is_number(vote) and 0 <= vote <= 1 for vote in votes):
        raise ScorerFailed(f"{who} gave votes that are no numbers from 0 to 1.")
    reason, label, error = texts
    return Judgement(
        shortened(name, LONGEST_NAME),
        None if value is None else float(value),
        None if value is None or passed is None else bool(passed),
        shortened(reason, LONGEST_REASON),
        shortened(label, LONGEST_NAME),
        shortened(error, LONGEST_REASON),
        tuple(map(float, votes)),
    )


def score_of(who: str, given: Any) -> float:
    """From a function that a person wrote for a notebook. NaN, infinite and 5.0 are no scores."""
    value = float(given)
    if not 0 <= value <= 1:
        raise ScorerFailed(f"{who} gave {value}. {ALLOWED}")
    return value


def is_plain(given: object) -> bool:
    """As our own scorers give it for nearly every answer, so that this is all that it costs."""
    if type(given) is not Judgement:
        return False
    fields: tuple[Any, ...] = given
    name, value, passed, reason, label, error, votes = fields
    return (
        type(value) is float
        and 0.0 <= value <= 1.0
        and type(passed) is bool
        and is_plain_text(name, LONGEST_NAME)
        and is_plain_text(reason, LONGEST_REASON)
        and label == ""
        and error == ""
        and votes == ()
    )


def is_plain_text(text: object, most: int) -> bool:
    return type(text) is str and len(text) <= most and text.isprintable()


def is_number(value: object) -> bool:
    return isinstance(value, Real)  # also those of numerical libraries


def shortened(text: str, most: int) -> str:
    """As any database stores it and a list can show it."""
    return clean_text(text if len(text) <= most else f"{text[: most - 1]}…")


def failure_of(scorer: BaseScorer, error: BaseException) -> ScorerFailed:
    if isinstance(error, MemoryError):
        raise error  # the whole process is in trouble, and its supervisor must know
    if isinstance(error, ScorerFailed):
        return ScorerFailed(shortened(str(error), LONGEST_MESSAGE))
    what = error.name.replace("_", " ") if isinstance(error, CallError) else type(error).__name__
    told = f"The scorer {scorer.own_name} failed: {what}: {error}"
    return ScorerFailed(shortened(told, LONGEST_MESSAGE))


def describe_end(scorer: BaseScorer, error: CallError) -> str:
    """What went wrong with its process, and what to do."""
    who = f"The scorer {scorer.own_name}"
    if isinstance(error, TimedOut):
        return (
            f"{who} took longer than the {scorer.judging_seconds:g} s that one answer may take, so "
            "its process was ended. Make a pattern or a schema simpler, or a plug-in faster. The "
            "answer is kept."
        )
    if isinstance(error, ProcessDied):
        return (
            f"{who} ended its process, or needed too much memory: {error} See the worker's log, "
            "then mend it. The answer is kept."
        )
    return shortened(f"{who} failed: {error}", LONGEST_MESSAGE)
