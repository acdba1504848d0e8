"""Stores what a promptfoo file asks for: its tests as a dataset, the rest as a configuration."""

from typing import NamedTuple

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from runs.models import Configuration, Dataset, Endpoint
from runs.services.configurations import (
    check_configuration,
    refuse_deleted,
    save_configuration,
)
from runs.services.datasets.storing import DatasetError, store_rows
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.promptfoo.reading import Promptfoo, read_promptfoo

LONGEST_NAME = 100  # characters, of a run that it starts


class Imported(NamedTuple):
    configuration: Configuration
    dataset: Dataset
    notes: list[Problem]


def look_at_promptfoo(person: AbstractBaseUser, text: str, name: str = "") -> Promptfoo:
    """What would be stored; nothing is. ConfigurationError lists what keeps it from being used."""
    found = read_promptfoo(text, find_endpoint)
    found = found._replace(name=(name.strip() or found.name)[:LONGEST_NAME])
    _refuse_taken(person, found.name)
    document = {**found.document, "name": found.name, "dataset": found.name}
    check_configuration(found.name, document, owner=person)
    return found


@transaction.atomic
def import_promptfoo(person: AbstractBaseUser, text: str, name: str = "") -> Imported:
    """A dataset and a configuration of the same name; existing ones of the person get a version."""
    found = look_at_promptfoo(person, text, name)
    try:
        told = "a promptfoo file"
        dataset = store_rows(person, found.name, found.rows, found.expected, origin=told)
    except DatasetError as error:
        raise ConfigurationError([Problem("tests", p.message) for p in error.problems]) from None
    document = {**found.document, "name": found.name, "dataset": dataset.name}
    stored = save_configuration(person, found.name, document, "Imported from a promptfoo file.")
    return Imported(stored, dataset, found.notes)


def _refuse_taken(person: AbstractBaseUser, name: str) -> None:
    others = Configuration.objects.filter(name=name).exclude(owner_id=person.pk)
    if others.exists():
        told = f"There is a configuration {name!r} of somebody else already. Choose another name."
        raise ConfigurationError([Problem("name", told)])
    refuse_deleted(name)


def find_endpoint(word: str, model: str) -> str | None:
    """One that lists the model, else one of the provider's name, else the only one of its kind."""
    endpoints = list(Endpoint.objects.filter(archived=None).order_by("pk"))
    listing = [one.name for one in endpoints if model in one.model_names]
    named = [one.name for one in endpoints if one.name == word]
    alike = [one.name for one in endpoints if one.kind == word]
    return next(iter([*listing, *named, *(alike if len(alike) == 1 else [])]), None)
