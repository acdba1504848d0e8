"""`manage.py rotate_keys`: a new key for the endpoint keys at rest."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from runs.secrets import SecretsError, key_file
from runs.services.endpoints import rotate_endpoint_keys


class Command(BaseCommand):
    help = "Encrypt the keys of all endpoints anew, under a key made now."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--forget-old",
            action="store_true",
            help="remove the older keys from the key file; backups made before then need a copy",
        )

    def handle(self, *args: Any, forget_old: bool, **options: Any) -> None:
        try:
            count = rotate_endpoint_keys(forget_old=forget_old)
        except SecretsError as error:
            raise CommandError(str(error)) from None
        kept = "older ones removed" if forget_old else "older ones kept for backups"
        self.stdout.write(f"{count} endpoint keys encrypted anew; key file {key_file()}, {kept}.")
