"""Turns what is wrong with what a person gave into one message and the exit code for it."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import OperationalError, ProgrammingError
from django.http import Http404

from runs.reports.export import ExportError
from runs.selectors.people import NobodyFound
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.gates import Exit, GateError


@contextmanager
def refusing() -> Iterator[None]:
    try:
        yield
    except ConfigurationError as error:
        raise bad_input("\n".join(map(problem_text, error.problems))) from None
    except (NobodyFound, GateError, ExportError, OSError) as error:
        raise bad_input(str(error)) from None
    except Http404 as error:
        raise bad_input(f"{error} Its number is on the page Runs.") from None
    except (OperationalError, ProgrammingError) as error:
        told = f"The database cannot be used: {error}. If it is new, run `manage.py migrate`."
        raise CommandError(told, returncode=Exit.OUR_FAULT) from error


def bad_input(message: str) -> CommandError:
    return CommandError(message, returncode=Exit.BAD_INPUT)


def problem_text(problem: Problem) -> str:
    return f"{problem.path}: {problem.message}" if problem.path else problem.message
