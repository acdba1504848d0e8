"""`manage.py list_prompts`: the prompts of the library, or one of them."""

from typing import Any

from django.core.management.base import CommandParser

from runs.management.refusals import bad_input
from runs.management.site_command import SiteCommand
from runs.selectors.prompts import every_prompt, find_prompt, newest_prompts
from workers.engine.spec.documents import write_document


class Command(SiteCommand):
    help = "Lists the prompts of the library; with a NAME, writes that one as YAML."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", help="a name, its newest version, or name@3")

    def handle(self, *args: Any, name: str | None, **options: Any) -> None:
        prompts = every_prompt()
        if name is None:
            for one in newest_prompts(prompts):
                owner = one.owner.get_username() if one.owner else "nobody"
                shared = ", shared" if one.is_shared else ""
                self.stdout.write(f"{one}  {owner}{shared}  {one.note}".rstrip())
            return
        found = find_prompt(name, prompts)
        if found is None:
            raise bad_input(f"There is no prompt {name!r}. `manage.py list_prompts` lists them.")
        self.stdout.write(write_document(found.content), ending="")
