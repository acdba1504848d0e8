"""One request on its way: what will be sent, when, with which fault, and where it is counted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from workers.simulator.answers.answering import text_answer
from workers.simulator.ledger import Ledger
from workers.simulator.limits import Limits
from workers.simulator.records import Answer, Ask, HttpRequest, Refusal, Reply, Route
from workers.simulator.settings import Settings


@dataclass(frozen=True, slots=True)
class FaultOrder:
    """A fault to be shown once, with its parameters; None means as the settings say."""

    name: str
    status: int = 500
    message: str | None = None
    retry_after: float | None = None
    answer: str = ""
    size_bytes: int | None = None
    pause_seconds: float | None = None
    delay_ms: float | None = None


@dataclass(slots=True)
class Account:
    """Where a request was written down, so that its end can be written there too.

    It keeps its own ledger and limits: after a reset there are new ones, and the end of an
    old request must not be counted in them.
    """

    ledger: Ledger
    row: int
    limits: Limits
    scope: str | None  # None: no slot of the limits is held
    clock: Callable[[], float]
    is_open: bool = True

    def close(self, status: int, is_aborted: bool) -> None:
        if not self.is_open:
            return
        self.is_open = False
        self.ledger.end(self.row, status, is_aborted, self.clock())
        if self.scope is not None:
            self.limits.release(self.scope)


class Exchange(NamedTuple):
    """A request with everything needed to answer it; control requests have no account."""

    request: HttpRequest
    reply: Reply
    settings: Settings
    due: float = 0.0  # on the server's clock; 0 means at once
    account: Account | None = None
    order: FaultOrder | None = None
    route: Route | None = None
    ask: Ask | None = None
    answer: Answer | None = None
    is_held: bool = False  # until settings are changed

    def close(self, status: int, is_aborted: bool = False) -> None:
        if self.account is not None:
            self.account.close(status, is_aborted)

    def refused(self, refusal: Refusal) -> Reply:
        """A refusal in the shape of the API that was asked."""
        if self.route is None:
            return self.reply
        return self.route.write_refusal(refusal)

    def ending(self, texts: tuple[str, ...], ending: str = "", *, is_cut: bool = False) -> Reply:
        """The reply of a model that ended in another way than with a whole text."""
        if self.route is None or self.ask is None or self.answer is None or self.ask.dimensions:
            return self.reply
        texts = texts if len(texts) > 1 else texts * len(self.answer.texts)
        cut = (is_cut,) * len(texts)
        return self.route.write(
            self.ask, self.answer._replace(texts=texts, is_cut=cut, ending=ending)
        )

    def saying(self, text: str) -> Reply:
        """The reply with another text in it; embeddings have no text and stay as they are."""
        if self.route is None or self.ask is None or self.answer is None or self.ask.dimensions:
            return self.reply
        texts = [text] * len(self.answer.texts)
        answer = text_answer(self.ask, texts, self.answer.seconds, self.answer.identity)
        return self.route.write(self.ask, answer)
