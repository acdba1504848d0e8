"""Finds the stored parts that a configuration names."""

from collections.abc import Mapping
from typing import NamedTuple

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import QuerySet

from runs.models import Dataset, Endpoint
from runs.outbound import check_webhook
from runs.roles import Permission, may, refusal
from workers.engine.errors import ConfigurationError, ForbiddenAddress, Problem
from workers.engine.scorers import SCORERS, PostingScorer
from workers.engine.spec.configuration import Configuration


class DatasetChoice(NamedTuple):
    name: str
    version: int | None  # None: the newest


def split_choice(choice: str) -> DatasetChoice:
    """`sums@3` is version 3 of sums."""
    name, at, version = choice.rpartition("@")
    if at and version.isdecimal():
        return DatasetChoice(name, int(version))
    return DatasetChoice(choice, None)


def every_dataset() -> QuerySet[Dataset]:
    """For commands: whoever may run them on this machine can read the database anyway."""
    return Dataset.objects.filter(is_hidden=False)


def find_dataset(choice: str, datasets: QuerySet[Dataset]) -> Dataset | None:
    """Of these, the one called `name`, in its newest version, or exactly `name@3`."""
    name, version = split_choice(choice)
    found = datasets.filter(name=name).order_by("-version")
    return (found if version is None else found.filter(version=version)).first()


def find_endpoint(name: str) -> Endpoint | None:
    return Endpoint.objects.filter(name=name).first()


def refuse_archived(
    configuration: Configuration, dataset: Dataset | None, endpoints: Mapping[str, Endpoint]
) -> None:
    """For new runs. ConfigurationError names what must be brought back or replaced."""
    problems = []
    if dataset is not None and dataset.archived:
        problems.append(
            Problem(
                "dataset",
                f"The dataset {dataset.name} is archived. Bring it back on its page under "
                "Datasets, or choose another.",
            )
        )
    problems += [
        Problem(
            "models",
            f"The endpoint {name} is archived. Have it brought back on its page under Endpoints, "
            "or choose models of another.",
        )
        for name in sorted({model.endpoint for model in configuration.every_model})
        if name in endpoints and endpoints[name].archived
    ]
    if problems:
        raise ConfigurationError(problems)


def refuse_written_code(person: AbstractBaseUser | None, configuration: Configuration) -> None:
    """ConfigurationError if it brings a program and the person may not write one. None: a command,
    whose user can run any program on this machine."""
    if person is None or may(person, Permission.WRITE_CODE):
        return
    problems = [
        Problem(f"scorers.{index}", refusal(person, Permission.WRITE_CODE))
        for index, choice in enumerate(configuration.scorers)
        if (scorer := SCORERS.get(choice.name)) and scorer.is_written_code
    ]
    if problems:
        raise ConfigurationError(problems)


def refuse_webhooks(configuration: Configuration) -> None:
    """ConfigurationError names the scorers that post to an address which may not be called."""
    problems = []
    for index, choice in enumerate(configuration.scorers):
        scorer = choice.scorer
        if not isinstance(scorer, PostingScorer):
            continue
        try:
            check_webhook(scorer.posts_to)
        except ForbiddenAddress as error:
            problems.append(Problem(f"scorers.{index}.url", str(error)))
    if problems:
        raise ConfigurationError(problems)
