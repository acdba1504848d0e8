"""Runs, datasets, endpoints and configurations as commands name them, to put away or bring back."""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404

from runs.access import find_dataset_for, find_endpoint_for, get_configuration_for, get_run_for
from runs.management.refusals import bad_input
from runs.models import Run
from runs.selectors.takes import (
    takes_of_configuration,
    takes_of_dataset,
    takes_of_endpoint,
    takes_of_run,
)
from runs.services.removing.archiving import (
    InUseError,
    archive_dataset,
    archive_endpoint,
    delete_dataset,
    delete_endpoint,
    restore_dataset,
    restore_endpoint,
)
from runs.services.removing.configuration_trash import (
    delete_configuration,
    restore_configuration,
)
from runs.services.removing.run_trash import archive_run, delete_run, restore_run

Act = Callable[[Any, User], object]  # false: it was so already


class Kind(NamedTuple):
    """What can be done with things of one kind; None: nothing like that."""

    find: Callable[[User, str], Any]
    takes: Callable[[Any], str]  # what goes with it, in words
    delete: Act
    archive: Act | None = None
    restore: Act | None = None


def find_run(user: User, name: str) -> Run:
    number = name.removeprefix("#")
    if not number.isascii() or not number.isdecimal() or len(number) > 18:
        raise bad_input(f"{name!r} is no run. Give its number, as in 118.")
    return get_run_for(user, int(number), write=True)


KINDS: dict[str, Kind] = {
    "run": Kind(
        find_run,
        takes_of_run,
        delete_run,
        archive_run,
        restore_run,
    ),
    "dataset": Kind(
        lambda user, name: find_dataset_for(user, name, write=True),
        takes_of_dataset,
        lambda dataset, user: delete_dataset(user, dataset.name),
        lambda dataset, user: archive_dataset(user, dataset.name),
        lambda dataset, user: restore_dataset(user, dataset.name),
    ),
    "endpoint": Kind(
        lambda user, name: find_endpoint_for(user, name, write=True),
        takes_of_endpoint,
        lambda endpoint, user: delete_endpoint(user, endpoint),
        lambda endpoint, user: archive_endpoint(user, endpoint),
        lambda endpoint, user: restore_endpoint(user, endpoint),
    ),
    "configuration": Kind(
        lambda user, name: get_configuration_for(user, name, write=True, even_deleted=True),
        takes_of_configuration,
        delete_configuration,
        restore=restore_configuration,
    ),
}


def find_all(kind: str, names: list[str], user: User) -> list[Any]:
    """Every one of them, or a refusal that says which is missing; then nothing was done."""
    found = []
    for name in names:
        try:
            found.append(KINDS[kind].find(user, name))
        except Http404:
            raise bad_input(f"There is no {kind} {name!r} for {user}. Nothing was done.") from None
        except PermissionDenied as error:
            raise bad_input(f"{name}: {error} Nothing was done.") from None
    return found


def do_all(act: Act, things: list[Any], user: User) -> int:
    """How many changed."""
    try:
        return sum(1 for thing in things if act(thing, user))
    except InUseError as error:
        raise bad_input(str(error)) from None
