"""What every agent is: its options as a schema, and a pipeline of its own written in Python."""

import inspect
from abc import abstractmethod
from collections.abc import Awaitable, Mapping
from typing import Any, ClassVar, Protocol

from pydantic import ConfigDict

from workers.engine.named import WithOptions


class Call(Protocol):
    """What an async agent is handed: the only way to a model, throttled, cached and billed."""

    async def __call__(self, step: str, /, *, sample: int = 0, **fields: str) -> str:
        """The answer to one of the agent's calls, its template filled from the case, the answers
        of earlier steps and these fields. Equal calls are made once; another sample is another
        call. CallError when there is no answer."""
        ...


class PlainCall(Protocol):
    """The same for an agent that is not async: it runs in a thread of its own."""

    def __call__(self, step: str, /, *, sample: int = 0, **fields: str) -> str: ...


class Agent(WithOptions):
    """The fields of an agent are its options. It is made anew for each trial."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    calls: ClassVar[tuple[str, ...]] = ()  # that a configuration must describe; empty: any
    gives: ClassVar[tuple[str, ...]] = ()  # fields that it fills in templates, besides the columns

    @abstractmethod
    def run(self, fields: Mapping[str, str], call: Any) -> str | Awaitable[str]:
        """The answer. Async with a Call, or plain with a PlainCall."""

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.run)

    def count_calls(self, described: int) -> int:
        """How many a trial makes at most, for estimates."""
        return described
