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


class Streak:
    """The permanent errors of one run that came in a row, in one process.

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
        error = CALL_ERRORS.get(score.error)
        if error is None or error.is_transient:
            self._count = 0
            return ""
        if score.error != self._error or not self._count:
            self._error, self._count, self._refused = score.error, 0, set()
        self._count += 1
        self._refused.add(model)
        if not self._is_hopeless():
            return ""
        words = score.error.replace("_", " ")
        said = f": {score.message[:120]}" if score.message else ""
        return f"{self._count} trials in a row failed with “{words}”{said}. {error.advice}"

    def _is_hopeless(self) -> bool:
        if self._error == BadCredentials.name:
            return self._count >= LONGEST_KEY_STREAK
        return self._count >= LONGEST_STREAK and len(self._refused) == self._models
