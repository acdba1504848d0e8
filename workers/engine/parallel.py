"""Plain parallel maps over threads, for scripts: the run machine does the same with leases.

Results come in the order of the items, `None` is a result like any other, and every item is
tried: a failure is reported after the others are done, together with what they gave. The batches
of query mutation go through the throttle and the cache of `Models` instead of threads.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from workers.engine.errors import EngineError
from workers.engine.query_mutation import (
    BatchedQueryMutationEnv,
    batch_encode_queries,
    batch_judge_answers,
    batch_mutate_queries,
    batch_query_target_model,
)

__all__ = [
    "BatchedQueryMutationEnv",
    "CandidateResponse",
    "Failure",
    "ParallelError",
    "TextModel",
    "batch_encode_queries",
    "batch_judge_answers",
    "batch_mutate_queries",
    "batch_query_target_model",
    "generate_candidates",
    "generate_candidates_parallel",
    "map_parallel",
    "run_parallel",
    "score_batch_parallel",
]

Item = TypeVar("Item")
Result = TypeVar("Result")
OnError = Literal["raise", "return"]

DEFAULT_WORKERS = 4  # threads; calls to a provider wait, so more rarely hurts and often is refused


class Failure(NamedTuple):
    position: int
    error: Exception


class ParallelError(EngineError):
    """Some items failed. `results` holds the others' results, and an exception in each gap."""

    def __init__(self, results: Sequence[Any], failures: Sequence[Failure]) -> None:
        self.results = list(results)
        self.failures = list(failures)
        first = self.failures[0]
        super().__init__(
            f"{len(self.failures)} of {len(self.results)} items failed; the first was item "
            f"{first.position} with {type(first.error).__name__}: {first.error}. "
            'The other results are in .results; on_error="return" gives them without raising.'
        )


@dataclass(frozen=True, slots=True)
class CandidateResponse:
    """What a model said under one of several system prompts."""

    text: str
    system_prompt: str
    prompt_index: int
    raw: Any = None


class TextModel(Protocol):
    """A model as the functions below call it. It must stand being called from several threads."""

    def complete(self, prompt: str, *, max_tokens: int, temperature: float, **options: Any) -> Any:
        """The answer: a text, or an object whose `text` is one."""
        ...


def map_parallel(
    fn: Callable[[Item], Result],
    items: Iterable[Item],
    max_workers: int | None = None,
    *,
    on_error: OnError = "raise",
) -> list[Any]:
    """`fn(item)` for each item, in order. None or 0 workers: one per item, at most four."""
    if on_error not in ("raise", "return"):
        raise ValueError(f"on_error is {on_error!r}. Choose one of: raise, return.")
    if max_workers is not None and max_workers < 0:
        raise ValueError(f"max_workers is {max_workers}. Give 1 or more, or None for the default.")
    work = list(items)
    if not work:
        return []
    with ThreadPoolExecutor(max_workers or min(len(work), DEFAULT_WORKERS)) as pool:
        outcomes = list(pool.map(lambda item: _attempt(fn, item), work))
    failures = [
        Failure(index, outcome.error)
        for index, outcome in enumerate(outcomes)
        if outcome.error is not None
    ]
    results = [outcome.value if outcome.error is None else outcome.error for outcome in outcomes]
    if failures and on_error == "raise":
        raise ParallelError(results, failures)
    return results


def run_parallel(
    fn: Callable[..., Result],
    items: Iterable[Sequence[Any]],
    max_workers: int | None = None,
    *,
    on_error: OnError = "raise",
) -> list[Any]:
    """`fn(*item)` for each item, in order."""
    return map_parallel(lambda item: fn(*item), items, max_workers, on_error=on_error)


def score_batch_parallel(
    score_fn: Callable[[str, str, str], Result],
    items: Iterable[tuple[str, str, str]],
    max_workers: int | None = None,
    *,
    on_error: OnError = "raise",
) -> list[Any]:
    """`score_fn(system_prompt, query, response)` for each triple, in order."""
    return run_parallel(score_fn, items, max_workers, on_error=on_error)


def generate_candidates(
    llm: TextModel,
    system_prompts: Sequence[str],
    query: str,
    max_tokens: int = 512,
    temperature: float = 0.7,
    *,
    on_error: OnError = "raise",
    **options: Any,
) -> list[Any]:
    """One response per system prompt, one call after the other."""
    settings = {"max_tokens": max_tokens, "temperature": temperature, **options}
    return _generate(llm, system_prompts, query, settings, max_workers=1, on_error=on_error)


def generate_candidates_parallel(
    llm: TextModel,
    system_prompts: Sequence[str],
    query: str,
    max_tokens: int = 512,
    temperature: float = 0.7,
    max_workers: int | None = None,
    *,
    on_error: OnError = "raise",
    **options: Any,
) -> list[Any]:
    """One response per system prompt, in their order, several calls at a time."""
    settings = {"max_tokens": max_tokens, "temperature": temperature, **options}
    return _generate(llm, system_prompts, query, settings, max_workers, on_error)


class _Outcome(NamedTuple):
    value: Any = None
    error: Exception | None = None


def _attempt(fn: Callable[[Item], Result], item: Item) -> _Outcome:
    try:
        return _Outcome(value=fn(item))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the caller's to see
        return _Outcome(error=error)


def _generate(
    llm: TextModel,
    system_prompts: Sequence[str],
    query: str,
    settings: Mapping[str, Any],
    max_workers: int | None,
    on_error: OnError,
) -> list[Any]:
    def ask(index: int) -> CandidateResponse:
        system_prompt = system_prompts[index]
        raw = llm.complete(f"{system_prompt}\n\nUser: {query}", **settings)
        text = raw if isinstance(raw, str) else raw.text
        return CandidateResponse(text, system_prompt, index, raw)

    return map_parallel(ask, range(len(system_prompts)), max_workers, on_error=on_error)
