"""How numbers are written, once, for the first render, the live frames and the exports alike."""

import math
from typing import Any

NOTHING = "–"  # what a person sees where there is no number yet

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR


def _is_missing(number: float | None) -> bool:
    return number is None or not math.isfinite(number)


def count(number: float | None) -> str:
    """1,234 below ten thousand, 12.3k and 4.5M above: exact where it matters, short where not."""
    if number is None or _is_missing(number):
        return NOTHING
    size = abs(number)
    if size < 10_000:
        return f"{number:,.0f}"
    if size < 999_950:  # above it, one decimal would round to 1000.0k
        return f"{number / 1_000:.1f}k"
    if size < 999_950_000:
        return f"{number / 1_000_000:.1f}M"
    return f"{number / 1_000_000_000:.1f}G"


def exact_count(number: float | None) -> str:
    """Every digit, for titles and screen readers."""
    if number is None or _is_missing(number):
        return NOTHING
    return f"{number:,.0f}"


def about(number: int) -> str:
    """Two digits that count, for what is only a guess: 6,158 becomes 6,200."""
    zeros = max(0, len(str(abs(number))) - 2)
    return f"{round(number, -zeros):,}"


def counted(number: int, word: str, words: str = "") -> str:
    """1 row, 1,319 rows; `words` where an s is not enough."""
    return f"{number:,} {word if number == 1 else words or f'{word}s'}"


def percent(share: float | None) -> str:
    """A share of one: 0.125 becomes "12.5 %"."""
    if share is None or _is_missing(share):
        return NOTHING
    return f"{share * 100:.1f} %"


def duration(seconds: float | None) -> str:
    """0.8 s, 24 s, 2m 05s, 1h 02m, 3d 04h: two units at most."""
    if seconds is None or _is_missing(seconds):
        return NOTHING
    seconds = max(seconds, 0.0)
    if seconds < 9.95:  # above it, one decimal would round to 10.0
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m {whole % _MINUTE:02d}s"
    if whole < _DAY:
        return f"{whole // _HOUR}h {whole % _HOUR // _MINUTE:02d}m"
    return f"{whole // _DAY}d {whole % _DAY // _HOUR:02d}h"


def milliseconds(number: float | None) -> str:
    """210 ms, 1.2 s, 2m 05s: how long one call took."""
    if number is None or _is_missing(number):
        return NOTHING
    number = max(number, 0.0)
    if number < 9.95:
        return f"{number:.1f} ms"
    if number < 999.5:
        return f"{number:.0f} ms"
    if number < _MINUTE * 1000:
        return f"{number / 1000:.1f} s"
    return duration(number / 1000)


def rate(per_second: float | None) -> str:
    """48.2/s, 12.3k/s; 6.2/min or 4.0/h where a second, or a minute, has less than one."""
    if per_second is None or _is_missing(per_second):
        return NOTHING
    if per_second >= 1_000:
        return f"{count(per_second)}/s"
    if per_second >= 0.995 or per_second == 0:  # below it, 60.0/min would be another word for 1/s
        return f"{per_second:.1f}/s"
    if per_second * _MINUTE >= 0.95:
        return f"{per_second * _MINUTE:.1f}/min"
    return f"{per_second * _HOUR:.1f}/h"


def dollars(amount: float | None) -> str:
    """$12.35, $0.0123, $0.00001235: cents from one dollar up, four digits that count below."""
    if amount is None or _is_missing(amount):
        return NOTHING
    if abs(amount) >= 1 or amount == 0:
        return f"${amount:,.2f}"
    decimals = 3 - math.floor(math.log10(abs(amount)))
    whole, _, part = f"{amount:.{decimals}f}".partition(".")
    return f"${whole}.{part.rstrip('0'):0<2}"


def short_dollars(amount: float | None) -> str:
    """At most eight characters, as a tile has room for: $12.3k, $12.35, $0.00013, <$0.0001."""
    if amount is None or _is_missing(amount) or amount == 0 or 1 <= amount < 999.995:
        return dollars(amount)
    if amount >= 1:
        return f"${count(amount)}"
    if amount < 0.00005:  # below it, four decimals are all zeros
        return "<$0.0001"
    return dollars(round(amount, 5))


def plain_number(number: float) -> str:
    """As a person would type it: no exponent, no needless zeros."""
    return f"{number:.10f}".rstrip("0").rstrip(".")


def decimals(number: float | None, places: int) -> str:
    """1,234.57 with two places: for tables whose unit is in the head."""
    if number is None or _is_missing(number):
        return NOTHING
    return f"{number:,.{places}f}"


def file_size(number: float | None) -> str:
    """A number of bytes: 820 B, 12.3 kB, 4.5 MB."""
    if number is None or _is_missing(number):
        return NOTHING
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size * 0.99995:  # below it, the smaller unit would not round up to 1000
            return f"{number / size:.1f} {unit}"
    return f"{number:.0f} B"


def score(value: float | None) -> str:
    """A score with three decimals, as in 0.873."""
    if value is None or _is_missing(value):
        return NOTHING
    return f"{value:.3f}"


def signed(value: float | None) -> str:
    """A difference of scores: +0.012, −0.034."""
    if value is None or _is_missing(value):
        return NOTHING
    return f"{value:+.3f}".replace("-", "−")


def p_value(p: float | None) -> str:
    """0.031, and <0.0001 where more digits would say nothing more."""
    if p is None or _is_missing(p):
        return NOTHING
    return "<0.0001" if p < 0.0001 else f"{p:.2g}"


def digits(value: float | None) -> str:
    """Three digits that count, of a number of any size: 0.612, −0.00213, 12,345."""
    if value is None or _is_missing(value):
        return NOTHING
    text = f"{value:,.0f}" if abs(value) >= 1_000 else plain_number(float(f"{value:.3g}"))
    return text.replace("-", "−")


def score_interval(low: float | None, high: float | None) -> str:
    """The interval around a score: "0.84 – 0.90"."""
    if low is None or high is None or _is_missing(low) or _is_missing(high):
        return NOTHING
    return f"{low:.2f} – {high:.2f}"


def signed_interval(low: float | None, high: float | None) -> str:
    """The interval around a difference: "−0.05 to +0.01"."""
    if low is None or high is None or _is_missing(low) or _is_missing(high):
        return NOTHING
    return f"{low:+.2f} to {high:+.2f}".replace("-", "−")


def without_endpoint(name: str, prefix: str) -> str:
    """A combination's name without the endpoint that all of its models share, as in `openai/`."""
    return name.replace(f"={prefix}", "=") if prefix else name


def excerpt(text: Any, length: int = 200) -> str:
    """The beginning of an untrusted text on one line: lists show no more than that."""
    line = " ".join(str(text)[: length * 4].split())
    if len(line) <= length:
        return line
    return line[: length - 1].rstrip() + "…"
