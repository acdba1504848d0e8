"""Notices a run that only burns money: the same permanent error, again and again, be it that calls
are refused or that no answer can be scored."""

from collections.abc import Hashable

from workers.engine.errors import CALL_ERRORS, BadCredentials
from workers.engine.records import Score

LONGEST_STREAK = 20
LONGEST_KEY_STREAK = 3  # a key that is refused is refused for all
ENOUGH = 20  # trials before a share of failures says anything


def has_too_many_failures(allowed: float | None, failed: int, done: int) -> bool:
    """By `fail_on_error`: a share of the trials, or from 1 on a count of them."""
    if not allowed:
        return False
    return failed > (allowed if allowed >= 1 else allowed * max(done, ENOUGH))


def is_permanent(error: str) -> bool:
    """Whether the same trial would fail in the same way again."""
    known = CALL_ERRORS.get(error)
    return known is not None and not known.is_transient


def longest_row(error: str) -> int:
    """How many of these in a row are too many."""
    return LONGEST_KEY_STREAK if error == BadCredentials.name else LONGEST_STREAK


def hopeless_text(count: int, what: str, error: str, message: str) -> str:
    """Why a run is paused: so many trials, or calls, in a row ended with this error."""
    said = f": {message[:120].rstrip('.')}" if message else ""
    words = error.replace("_", " ")
    return f"{count} {what} in a row failed with “{words}”{said}. {CALL_ERRORS[error].advice}"


class Streak:
    """The permanent errors of one run that came in a row, in one process. Over all processes calls
    are counted where they are let go (permits.lua), and trials where they are stored
    (runs/services/control/failures.py): later than here, since neither is asked for each trial.

    Refusals come sooner than answers, so that those of one model may come in a row while another
    one works on its first answer: only when every model of the run is among them it is hopeless.
    """

    def __init__(self, models: int) -> None:
        self._models = models
        self._error = ""
        self._count = 0
        self._refused: set[Hashable] = set()

    def note(self, score: Score, model: Hashable) -> str:
        """Why the run should be paused, when the streak is too long; else nothing."""
        if not is_permanent(score.error):
            self._count = 0
            return ""
        if score.error != self._error or not self._count:
            self._error, self._count, self._refused = score.error, 0, set()
        self._count += 1
        self._refused.add(model)
        if not self._is_hopeless():
            return ""
        return hopeless_text(self._count, "trials", score.error, score.message)

    def _is_hopeless(self) -> bool:
        if self._count < longest_row(self._error):
            return False
        return self._error == BadCredentials.name or len(self._refused) == self._models
