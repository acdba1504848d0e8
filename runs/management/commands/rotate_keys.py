"""`manage.py rotate_keys`: a new key for the endpoint keys at rest."""

from argparse import ArgumentParser
from typing import Any

from runs import formatting
from runs.management.site_command import SiteCommand
from runs.secrets import key_file
from runs.services.endpoints import rotate_endpoint_keys


class Command(SiteCommand):
    help = "Encrypts the API keys of all endpoints again, with a new key."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--forget-old",
            action="store_true",
            help="remove the older keys from the key file; older backups need a copy of that file",
        )

    def handle(self, *args: Any, forget_old: bool, **options: Any) -> None:
        count = rotate_endpoint_keys(forget_old=forget_old)
        kept = "holds only the new key" if forget_old else "keeps the older keys for backups"
        done = formatting.counted(count, "endpoint key")
        self.stdout.write(f"Encrypted {done} again. The key file {key_file()} {kept}.")
