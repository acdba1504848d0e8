"""Turns what a command refuses, or cannot work without, into one message and its exit code."""

from collections.abc import Iterator
from contextlib import contextmanager

import redis
from django.conf import settings
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError, ProgrammingError
from django.http import Http404

from evalsite.database import BUSY_SECONDS
from evalsite.env import PROGRAM
from runs.reports.export import ExportError
from runs.secrets import SecretsError
from runs.selectors.people import NobodyFound
from workers.engine.errors import ConfigurationError, EngineError, Problem
from workers.engine.statistics.gates import Exit


@contextmanager
def refusing() -> Iterator[None]:
    try:
        yield
    except ConfigurationError as error:
        raise bad_input("\n".join(map(problem_text, error.problems))) from None
    except ValidationError as error:
        raise bad_input("\n".join(error.messages)) from None
    except (EngineError, NobodyFound, ExportError, SecretsError, PermissionDenied) as error:
        raise bad_input(str(error)) from None
    except Http404:
        raise bad_input(
            "There is no run of this number, or it belongs to somebody else. The page Runs lists "
            "the numbers."
        ) from None
    except (OperationalError, ProgrammingError, InterfaceError) as error:
        raise bad_input(database_text(error)) from error
    except redis.RedisError as error:
        raise bad_input(
            f"Redis does not answer: {error}. Start the site (`{PROGRAM} serve`), or the Redis "
            "that REDIS_URL names."
        ) from error
    except BrokenPipeError:
        raise  # nobody reads any more: see manage.py
    except OSError as error:
        raise bad_input(file_text(error)) from None


def bad_input(message: str) -> CommandError:
    return CommandError(message, returncode=Exit.BAD_INPUT)


def problem_text(problem: Problem) -> str:
    return f"{problem.path}: {problem.message}" if problem.path else problem.message


def file_text(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}." if error.filename else f"{error}."


def database_text(error: Exception) -> str:
    told = " ".join(str(error).split()).rstrip(".")
    if "locked" in told:
        return (
            f"Another process has kept the database locked for {BUSY_SECONDS} seconds. Try again "
            "when it has finished."
        )
    if settings.ENVIRONMENT.database_url:
        return f"The database of DATABASE_URL cannot be used: {told}."
    return f"The database in {settings.EVALSITE_DATA} cannot be used: {told}."
