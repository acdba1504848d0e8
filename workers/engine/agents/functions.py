"""Makes agents of functions: `async def vote(fields, call, *, samples: int = 5) -> str`."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any, ClassVar, get_type_hints

from pydantic import create_model

from workers.engine.agents.base import Agent

FIRST = ["fields", "call"]


class FunctionAgent(Agent):
    function: ClassVar[Callable[..., str | Awaitable[str]]]

    def run(self, fields: Mapping[str, str], call: Any) -> str | Awaitable[str]:
        return type(self).function(fields, call, **dict(self))

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(type(self).function)


def is_agent_function(thing: object) -> bool:
    """Known by its first parameters: a plugin may hold functions for other purposes."""
    return inspect.isfunction(thing) and list(inspect.signature(thing).parameters)[:2] == FIRST


@cache
def agent_of(function: Callable[..., Any]) -> type[Agent]:
    """Its keyword-only parameters are the options."""
    hints = get_type_hints(function)
    options: dict[str, Any] = {
        one.name: (hints.get(one.name, Any), ... if one.default is one.empty else one.default)
        for one in inspect.signature(function).parameters.values()
        if one.kind is one.KEYWORD_ONLY
    }
    about = inspect.getdoc(function)
    made = create_model(function.__name__, __base__=FunctionAgent, __doc__=about, **options)
    made.function = staticmethod(function)
    return made
