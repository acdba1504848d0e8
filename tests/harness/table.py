"""One test over many rows. It says of every row that fails what was wrong there."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import update_wrapper
from typing import Any

import pytest
from _pytest.mark import ParameterSet

Test = Callable[..., Any]
FAILED = (Exception, pytest.fail.Exception)  # the second is no Exception
row = pytest.param  # with an id, which says what the row is about


def table(*rows: Any) -> Callable[[Test], Test]:
    """The values of a row are the last parameters of the test; the others are fixtures. Of these,
    documents are copied: no row sees what another one wrote."""

    def decorate(test: Test) -> Test:
        parameters = list(inspect.signature(test).parameters.values())
        fixtures = parameters[: len(parameters) - len(values_of(rows[0]))]

        def run(**given: Any) -> None:
            failures: list[BaseException] = []
            for one in rows:
                with noting(failures, one):
                    test(**copied(given), **named(parameters, one))
            raise_all(failures)

        async def run_async(**given: Any) -> None:
            failures: list[BaseException] = []
            for one in rows:
                with noting(failures, one):
                    await test(**copied(given), **named(parameters, one))
            raise_all(failures)

        made: Any = run_async if inspect.iscoroutinefunction(test) else run
        update_wrapper(made, test)
        made.__signature__ = inspect.Signature(fixtures)
        return made  # type: ignore[no-any-return]

    return decorate


def values_of(one: Any) -> tuple[Any, ...]:
    if isinstance(one, ParameterSet):
        return tuple(one.values)
    return one if isinstance(one, tuple) else (one,)


def named(parameters: Sequence[inspect.Parameter], one: Any) -> dict[str, Any]:
    values = values_of(one)
    names = [parameter.name for parameter in parameters[-len(values) :]]
    return dict(zip(names, values, strict=True))


def copied(given: dict[str, Any]) -> dict[str, Any]:
    return {
        name: deepcopy(one) if isinstance(one, dict | list) else one for name, one in given.items()
    }


@contextmanager
def noting(failures: list[BaseException], one: Any) -> Iterator[None]:
    try:
        yield
    except FAILED as error:
        name = one.id if isinstance(one, ParameterSet) and one.id else values_of(one)
        error.add_note(f"The row: {str(name)[:300]}")
        failures.append(error)


def raise_all(failures: Sequence[BaseException]) -> None:
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} rows of the table fail.", failures)
