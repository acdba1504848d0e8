"""Notices a run that only burns money: the same permanent error, again and again."""

from workers.engine.errors import CALL_ERRORS, BadCredentials
from workers.engine.records import Score

LONGEST_STREAK = 20
LONGEST_KEY_STREAK = 3  # a key that is refused is refused for all


class Streak:
    """The permanent errors of one run that came in a row, in one process."""

    def __init__(self) -> None:
        self._error = ""
        self._count = 0

    def note(self, score: Score) -> str:
        """Why the run should be paused, once, when the streak is too long; else nothing."""
        error = CALL_ERRORS.get(score.error)
        if error is None or error.is_transient or score.answer:
            self._count = 0
            return ""
        self._count = self._count + 1 if score.error == self._error else 1
        self._error = score.error
        is_key = score.error == BadCredentials.name
        if self._count != (LONGEST_KEY_STREAK if is_key else LONGEST_STREAK):
            return ""
        words = score.error.replace("_", " ")
        said = f": {score.message[:120]}" if score.message else ""
        return f"{self._count} trials in a row failed with “{words}”{said}. {error.advice}"
