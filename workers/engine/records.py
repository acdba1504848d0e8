"""The frozen records that pass between strategy, executor and storage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

EVALUATE = "evaluate"  # the role of trials that count for leaderboard and score
PROPOSE = "propose"  # of those in which a model writes a new candidate, told to the strategy only
CONFIRM = "confirm"  # of the best once more, on cases that it was not chosen by
JUDGED = frozenset({EVALUATE, CONFIRM})  # the roles whose answers scorers judge
JUDGE = "judge"  # of calls inside a trial that ask about its answer: they are no trials themselves

ANSWER = "answer"  # what a strategy may ask to hear: the answer, and what the scorers said of it
RECORD = "record"  # or what the trial recorded, as JSON
CASE = "case"  # or the fields of its case, to show a writer what an answer was about


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing under test. `document` is what its target needs (a prompt, a model, …)."""

    key: str
    name: str
    document: Mapping[str, Any]
    role: str = EVALUATE  # of all its trials; any other is told to the strategy and never ranked


@dataclass(frozen=True, slots=True)
class Case:
    """One thing it is tested on."""

    position: int
    fields: Mapping[str, str]
    expected_column: str = "expected"  # as the run's configuration says; empty: there is none

    @property
    def expected(self) -> str | None:
        return self.fields.get(self.expected_column)


class Trial(NamedTuple):
    """One candidate on one case, one repeat. `position` is its place in the run's order."""

    position: int
    candidate: str
    case: int
    repeat: int


@dataclass(frozen=True, slots=True)
class Request:
    """One call to a provider, complete but for the key: a chat, or the embedding of one text."""

    endpoint: str
    model: str
    path: str
    body: Mapping[str, Any]
    repeat: int = 0
    candidate: str = ""  # whose call it is; not part of what is sent
    step: str = ""  # of a pipeline; nor is this
    role: str = ""  # JUDGE where a target judges on its way: counted apart; nor is this


TRUNCATED = "truncated"  # the one flaw with which an answer may be scored and cached


class ToldLimits(NamedTuple):
    """A provider's own limits per minute, from its headers; 0 where it says nothing."""

    requests: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Reply:
    """A successful answer. `latency_ms` is that of the original call, also when cached."""

    text: str
    latency_ms: float
    tokens_in: int | None = None
    tokens_out: int | None = None
    cached: bool = False
    told: ToldLimits | None = None
    flaw: str = ""  # why it is no whole text: the name of a FlawedAnswer, or nothing
    ending: str = ""  # the provider's own word for a flaw
    vectors: tuple[tuple[float, ...], ...] = ()  # of a request for embeddings, as it was sent
    service: str = field(default="", compare=False)  # of the provider that gave it

    @property
    def truncated(self) -> bool:
        """It ended at max_tokens, or at the model's own length limit."""
        return self.flaw == TRUNCATED


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a target may give instead of a bare reply: a value of its own, and a record of what
    happened, which is kept beside the score and read only when somebody looks at it."""

    reply: Reply
    value: float | None = None  # None: the scorers judge the reply's text
    passed: bool | None = None  # of a value that can be right or wrong
    record: Any = None  # anything that JSON can hold; None: there is none


JOINED = "joined an equal call"  # what an attempt is called that took another call's answer
BATCHED = "sent with another text"  # of several texts in one request, it is the first one's call

CANCELLED = "cancelled"  # the outcome of a call that its own agent did not wait for


class Attempt(NamedTuple):
    """One step on the way to an answer, as the trial page shows it."""

    what: str  # "call", "rate limited", "retry", "cache hit", JOINED or BATCHED
    outcome: str  # "ok" or the name of the error
    waited_ms: float  # before the call: for a slot, a rate, or a retry
    took_ms: float
    message: str = ""
    step: str = ""  # of a pipeline


class StepCall(NamedTuple):
    """One call of a trial that makes several, as the trial page shows it."""

    step: str
    model: str
    prompt: list[dict[str, Any]]
    answer: str
    error: str
    latency_ms: float | None  # of the original call, also when cached
    tokens_in: int | None
    tokens_out: int | None
    full_cost: float | None  # dollars, paid or not; None: unknown
    cached: bool
    truncated: bool = False  # calls stored by earlier versions do not say


class Facts(NamedTuple):
    """What an answer took, for scorers that judge that."""

    latency_ms: float | None = None  # of the original call, also when cached; None: unknown
    dollars: float | None = None  # of all calls for it, paid or cached; None: a price is unknown


class Judgement(NamedTuple):
    """What one scorer said of one answer. Stored in this order; rows of earlier versions end after
    the reason."""

    name: str  # of the scorer
    value: float | None  # from 0 to 1; None: not scored, which is no zero
    passed: bool | None  # None: neither right nor wrong
    reason: str
    label: str = ""  # a word for the verdict, of scorers that sort answers
    error: str = ""  # why it is not scored, where something failed
    votes: tuple[float, ...] = ()  # of a panel, what each of its judges gave, in their order

    @classmethod
    def read(cls, row: Sequence[Any]) -> "Judgement":
        """From a stored row: JSON knows no tuples."""
        found = cls(*row)
        return found._replace(votes=tuple(found.votes)) if found.votes != () else found

    @property
    def is_scored(self) -> bool:
        return self.value is not None

    @property
    def told(self) -> str:
        """In one text."""
        return self.error or self.reason


@dataclass(frozen=True, slots=True)
class Judging:
    """What scorers asked to judge one answer: apart from what its target asked and used."""

    calls: tuple[StepCall, ...] = ()  # the step is the scorer's name
    attempts: tuple[Attempt, ...] = ()
    sent: int = 0
    cost: float | None = None  # dollars; None: unknown, or no answer arrived
    cost_saved: float = 0.0
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer that could not be judged, from before a retry, or whose judging was interrupted: it
    is judged again, not asked for again."""

    reply: Reply
    attempts: tuple[Attempt, ...] = ()
    calls: tuple[StepCall, ...] = ()
    cost: float | None = None
    full_cost: float | None = None
    record: bytes | None = None
    calls_sent: int = 0
    cost_saved: float = 0.0
    unpriced: int = 0
    is_counted: bool = True  # of one that was scored before, all that it took


@dataclass(frozen=True, slots=True)
class Score:
    """What became of a trial: a value or an error, never both, never neither."""

    trial: Trial
    value: float | None = None
    passed: bool | None = None
    error: str = ""
    message: str = ""
    answer: str = ""
    judgements: tuple[Judgement, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    latency_ms: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cached: bool = False
    calls_sent: int = 0
    cost: float | None = None  # dollars; None: unknown, or no answer arrived
    cost_saved: float = 0.0  # dollars that cached answers would have cost
    unpriced: int = 0  # answers that arrived and whose price is unknown
    full_cost: float | None = None  # dollars if nothing had been cached; None: unknown
    calls: tuple[StepCall, ...] = ()  # of a pipeline, in the order in which they began
    truncated: bool = False  # the answer was cut at its length limit, scored or not
    record: bytes | None = None  # JSON, kept beside the score; None: there is none
    judging: Judging | None = None  # None: no scorer asks
    unjudged: Reply | None = None  # the answer, of a trial that failed only in being judged
    is_kept: bool = False  # its answer is a KeptAnswer that was counted when it came
    fields: Mapping[str, str] | None = None  # of its case, for a strategy that hears CASE

    @property
    def spent(self) -> float:
        """Dollars, as far as they are known, with what was spent on judges."""
        judges = self.judging.cost if self.judging else None
        return (self.cost or 0.0) + (judges or 0.0)

    @property
    def unpriced_in_all(self) -> int:
        return self.unpriced + (self.judging.unpriced if self.judging else 0)

    def __post_init__(self) -> None:
        if (self.value is None) == (not self.error):
            raise ValueError("A score has either a value or an error.")


@dataclass(frozen=True, slots=True)
class Slice:
    """The trials of one chunk with what is needed to run them."""

    trials: tuple[Trial, ...]
    candidates: Mapping[str, Candidate]
    cases: Mapping[int, Case]
    done: frozenset[int] = field(default_factory=frozenset)  # positions already scored
    kept: Mapping[int, KeptAnswer] = field(default_factory=dict)  # by position
    anew: frozenset[int] = field(default_factory=frozenset)  # positions asked past the cache
    # Answers that are being judged just now: whoever stops the work keeps them.
    unjudged: dict[Trial, KeptAnswer] = field(default_factory=dict, compare=False)
