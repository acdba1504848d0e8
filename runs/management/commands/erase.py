"""`manage.py erase dataset NAME` and `erase person NAME`: with everything that came of them."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from runs.management.refusals import bad_input
from runs.management.site_command import SiteCommand
from runs.selectors.erasures import (
    Erasure,
    dataset_erasure,
    find_account,
    find_dataset_to_erase,
    in_words,
    obstacle_to_erasing_dataset,
    obstacle_to_erasing_person,
    person_erasure,
)
from runs.services.people.local_account import person_for_command
from runs.services.removing.archiving import InUseError
from runs.services.removing.erasing import erase_dataset, erase_person


class Command(SiteCommand):
    help = (
        "Erases a dataset or a person with everything that came of them. Without --yes it is only "
        "counted. Of a dataset: all versions, the runs on them with their scores, and the cached "
        "answers that those runs paid for. Of a person: the account, its private runs, datasets "
        "and configurations, tokens, webhooks and sessions; what is shared is handed over. Refused "
        "while such runs go on."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", choices=["dataset", "person"])
        parser.add_argument("name", help="of the dataset or the account; name@1 for pasted rows")
        parser.add_argument(
            "--heir",
            metavar="NAME",
            help="account that takes over what a person shares; default: the only administrator",
        )
        parser.add_argument("--yes", action="store_true", help="erase it")

    def handle(
        self, *args: Any, what: str, name: str, heir: str | None, yes: bool, **options: Any
    ) -> None:
        actor = person_for_command(heir)
        act = erase_person_named if what == "person" else erase_dataset_named
        try:
            found = act(name, actor, yes)
        except InUseError as error:
            raise bad_input(f"Nothing was erased. {error}") from None
        self.stdout.write(f"{'Erased' if yes else 'To erase'}: {text_of(found.erased)}.")
        if any(found.handed_over.values()):
            given = "Handed over" if yes else "To hand over"
            self.stdout.write(f"{given} to {actor}: {text_of(found.handed_over)}.")
        if not yes:
            self.stdout.write("Add --yes to erase it. This cannot be undone.")


def erase_dataset_named(name: str, actor: User, yes: bool) -> Erasure:
    dataset = find_dataset_to_erase(name)
    if dataset is None:
        raise bad_input(
            f"There is no dataset {name!r}. A dataset is erased with all its versions: give its "
            "name without @ and a number."
        )
    if yes:
        return erase_dataset(actor, dataset)
    refuse(obstacle_to_erasing_dataset(actor, dataset))
    return dataset_erasure(dataset)


def erase_person_named(name: str, actor: User, yes: bool) -> Erasure:
    account = find_account(name)
    if account is None:
        raise bad_input(f"There is no account {name!r}.")
    if yes:
        return erase_person(account, actor)
    refuse(obstacle_to_erasing_person(account, actor))
    return person_erasure(account)


def refuse(obstacle: str) -> None:
    if obstacle:
        raise InUseError(obstacle)


def text_of(numbers: Mapping[str, int]) -> str:
    return ", ".join(in_words(numbers)) or "nothing but itself"
