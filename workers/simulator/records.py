"""The records that travel through the simulated provider: request, ask, answer, reply, route."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Json = Mapping[str, Any]
Headers = tuple[tuple[str, str], ...]


class HttpRequest(NamedTuple):
    """One request as read from the connection."""

    method: str
    path: str
    query: str
    body: bytes
    authorization: str = ""
    is_from_a_page: bool = False  # of a browser, which may show anybody's page
    api_key: str = ""  # as Azure takes it


class Reply(NamedTuple):
    """One response. A reply with pieces is sent chunk by chunk; else the body at once."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: Headers = ()
    pieces: tuple[bytes, ...] = ()


class Tool(NamedTuple):
    """A function that a model may call."""

    name: str
    description: str
    parameters: Json  # a JSON Schema


class Call(NamedTuple):
    """The call of a tool."""

    name: str
    arguments: dict[str, Any]


class Ask(NamedTuple):
    """What a provider request asks for, whichever API it came through."""

    model: str  # as asked, with any suffix
    prompts: tuple[str, ...]  # last user message, or prompts, or texts to embed
    tokens_in: int
    system: str = ""
    stream: bool = False
    stream_usage: bool = False
    variant: str = ""  # which of several answers; empty means the usual one
    choices: int = 1
    max_tokens: int | None = None
    dimensions: int = 0
    base64: bool = False
    images: tuple[str, ...] = ()  # a description of each
    tools: tuple[Tool, ...] = ()  # that it may call


class Answer(NamedTuple):
    """What the model makes of an ask: texts for a chat or completion, vectors for embeddings."""

    texts: tuple[str, ...]
    is_cut: tuple[bool, ...]  # by max_tokens, one per text
    vectors: tuple[list[float], ...]
    tokens_out: int
    seconds: float  # the latency the client will see
    identity: int = 0  # the same for the same request; becomes the id of the reply
    call: Call | None = None  # instead of a text, with the ending tool_calls
    ending: str = ""  # content_filter, refusal or tool_calls; empty: done, or cut


class Refusal(NamedTuple):
    """Why a request gets no answer; each API writes it in its own shape."""

    status: int
    message: str
    kind: str = "invalid_request_error"
    param: str | None = None
    code: str | None = None
    headers: Headers = ()


class RefusedError(Exception):
    """Raised while a request is read; carries the refusal to answer with."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class Route:
    """One path of one API: how its body is read and how its answers and errors are written."""

    path: str
    model_kind: Literal["chat", "embedding"]
    read: Callable[[Json], Ask]
    write: Callable[[Ask, Answer], Reply]
    write_refusal: Callable[[Refusal], Reply]
    name_headers: Callable[[Headers], Headers] = tuple  # of the limits; OpenAI's names are ours
