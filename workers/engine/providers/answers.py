"""Reads what providers send back: answers, and errors in whatever shape they come."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import orjson

from workers.engine.errors import (
    BadCredentials,
    CallError,
    MalformedAnswer,
    RateLimited,
    Refused,
    ServerError,
)
from workers.engine.http import Answer
from workers.engine.messages.tool_calls import ToolCall, call_text, declares_tools
from workers.engine.providers.retry_after import read_retry_after

MESSAGE_CHARACTERS = 300
LEAST_ECHO = 12  # characters of a secret that is taken out of good answers
LONGEST_ENDING = 40  # characters of a provider's word that are shown
LARGEST_NUMBER = 3.4e38  # of a vector: they are kept with 32 bits
# What reading a document of another shape can raise; numbers may be larger than a float.
READING_ERRORS = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)
Found = TypeVar("Found")


def read_json_answer(body: bytes, read: Callable[[Any], Found], what: str) -> Found:
    """What `read` finds in a JSON body, or MalformedAnswer saying that it is not `what`."""
    try:
        return read(_parse(body))
    except READING_ERRORS as error:
        raise MalformedAnswer(
            f"Not {what} ({type(error).__name__}), {len(body):,} bytes."
        ) from None


def _parse(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        if b"\\ud" not in body.lower():
            raise
        return json.loads(body)  # half a surrogate pair: no reason to lose the rest of the text


def call_error(answer: Answer, *secrets: str) -> CallError:
    """What an answer other than 200 means. 529 is how Anthropic says that it is overloaded."""
    message = f"{answer.status}: {error_message(answer.body, *secrets)}"
    if answer.status == 429:
        return RateLimited(message, read_retry_after(answer.headers))
    if answer.status in (401, 403):
        return BadCredentials(message)
    if answer.status >= 500 or answer.status == 408:
        return ServerError(message)
    return Refused(message)


def error_message(body: bytes, *secrets: str) -> str:
    """What the provider said, whatever it sent. It may echo the key, which must not reach a page
    or a row; it is taken out before the text is cut, or half of it might stay."""
    try:
        error = orjson.loads(body)["error"]
        text = str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError, RecursionError):
        text = body.decode("utf-8", "replace") or "no message"
    text = without_secrets(text, *secrets)
    return clean_text(text[: MESSAGE_CHARACTERS * 4])[:MESSAGE_CHARACTERS]


def without_secrets(text: str, *secrets: str) -> str:
    """The longest first: one may be a part of another."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "[key]")
    return text


def echoes_of(secrets: Iterable[str]) -> tuple[bytes, ...]:
    """As a good answer may hold them, the longest first: alone, and as JSON writes them. Short ones
    are left out: a model may well say the name of a region that a header holds."""
    parts = {part for secret in secrets for part in (secret, *secret.split())}
    long = {part for part in parts if len(part) >= LEAST_ECHO}
    written = {json.dumps(part)[1:-1] for part in long}
    written |= {part.replace("/", "\\/") for part in written}
    return tuple(sorted((part.encode() for part in long | written), key=len, reverse=True))


def without_echoes(body: bytes, echoes: Sequence[bytes]) -> bytes:
    for echo in echoes:
        if echo in body:
            body = body.replace(echo, b"[key]")
    return body


def read_vectors(found: Any, texts: int) -> tuple[tuple[float, ...], ...]:
    """One vector of numbers per text, all of one length; ValueError otherwise."""
    vectors = tuple(tuple(map(float, vector)) for vector in found)
    is_even = len({len(vector) for vector in vectors}) <= 1
    is_sane = all(abs(number) <= LARGEST_NUMBER for number in chain(*vectors))  # not so of NaN
    if len(vectors) != texts or not is_even or not is_sane:
        raise ValueError(f"{len(vectors)} vectors for {texts} texts.")
    return vectors


def text_of_parts(content: Any) -> str:
    """A message's content as one text: it is a text, or a list of parts that hold texts."""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content or () if part.get("type") == "text")


class Said(NamedTuple):
    """What an answer says: its text, or the tool calls that were asked for as a text."""

    text: str
    is_call: bool


def said(text: str, calls: Sequence[ToolCall], body: Mapping[str, Any]) -> Said:
    """Where tools were declared, a call is the answer; what the model says beside it is not.
    Where none were, a call is no answer, and the text is what there is."""
    if calls and declares_tools(body):
        return Said(clean_text(call_text(calls)), True)
    return Said(clean_text(text), False)


def ending_of(reason: Any) -> str:
    """Why an answer ended, in the provider's word."""
    return clean_text(reason[:LONGEST_ENDING]) if isinstance(reason, str) else ""


def pick(parameters: Mapping[str, Any], *names: str) -> Any:
    """The first of several names for one parameter that is given."""
    return next((parameters[name] for name in names if parameters.get(name) is not None), None)


def clean_text(text: str) -> str:
    """Text that any database stores: no NUL, no half surrogates."""
    if not text.isprintable() and "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "replace").decode()
    return text


def whole_number(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
    return value if is_count else None
