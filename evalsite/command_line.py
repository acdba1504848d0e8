"""What `manage.py` shows without a command: ours first, each with a line, then Django's."""

from __future__ import annotations

from textwrap import fill

from django.core.management import (
    ManagementUtility,
    get_commands,
    load_command_class,
)

OURS = "runs"  # the app that has our commands
WIDTH = 100  # columns
INTERNAL = {"benchmark_measure"}  # started by another command
HEAD = """evalsite: runs evaluations of prompts and models.

{prog} COMMAND --help explains a command; docs/COMMANDS.md has them all.
--data DIR, or EVALSITE_DATA, says where the site keeps its data. Start with `{prog} serve`.
"""


class CommandLine(ManagementUtility):
    def main_help_text(self, commands_only: bool = False) -> str:
        if commands_only:
            return super().main_help_text(commands_only=True)
        of_django = sorted(name for name, app in get_commands().items() if app != OURS)
        return "\n".join(
            [
                HEAD.format(prog=self.prog_name),
                "Commands:",
                *(command_line(name) for name in our_commands()),
                "\nCommands of Django:",
                fill(", ".join(of_django), WIDTH, initial_indent="  ", subsequent_indent="  "),
            ]
        )


def our_commands() -> list[str]:
    ours = {name for name, app in get_commands().items() if app == OURS}
    return sorted(ours - INTERNAL)


def command_line(name: str) -> str:
    """Its name and the first sentence of its help."""
    about = load_command_class(OURS, name).help.partition(". ")[0]
    return f"  {name:21} {about.rstrip('.')}"
