"""Places where a fault test may end this process as a crash would, named by EVALSITE_FAILPOINT.

`after_lease:3` ends it when that place is reached for the third time, `after_answer:~WORD` when
the answer holds the word. Without the variable a place costs one comparison.
"""

import os

NAME, _, _when = os.environ.get("EVALSITE_FAILPOINT", "").partition(":")
CRASH_CODE = 9

_word = _when.removeprefix("~") if _when.startswith("~") else ""
_left = 0 if _word or not NAME else int(_when)


def crash_here(name: str, text: str = "") -> None:
    """End the process if the variable names this place and its time has come."""
    global _left
    if name != NAME:
        return
    if _word:
        is_time = _word in text
    else:
        _left -= 1
        is_time = _left == 0
    if is_time:
        os._exit(CRASH_CODE)  # no clean-up of any kind, as in a crash
