"""Writes docs/COMMANDS.md from the commands' own parsers; a test says when it is out of date."""

from __future__ import annotations

import os
import sys
from argparse import Action, ArgumentParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATH = ROOT / "docs" / "COMMANDS.md"
HEAD = """# Commands

`manage.py` of the site's `.venv`, or `evalsite` where the package is installed; how they go
together: [COMMAND_LINE.md](COMMAND_LINE.md). Every command takes `--data DIR` (or
`EVALSITE_DATA`): the data folder. Written by `make commands` from the commands themselves; do not
edit.

Exit codes: 0 done or passed, 1 our fault, 2 refused (bad input, or a database, Redis or address
that cannot be used), 130 interrupted. `run` and `watch` also: 3 too many errors, 4 stopped by a
budget, 100 a gate failed. A CI job that uses them: [ci-example.yml](ci-example.yml).

Commands make the database of a new data folder, and bring an older one up to date, as `serve` does.
One that `DATABASE_URL` names is left alone: run `manage.py migrate` for it. Without `--user` a
command acts for the only administrator. While there is none, it acts for the account `local`, an
operator without a password, so that nobody can sign in with it. What it makes stays there when an
administrator is made later.
"""


def write_reference() -> str:
    from django.core.management import load_command_class

    from evalsite.command_line import OURS, our_commands

    parts = [HEAD]
    for name in our_commands():
        command = load_command_class(OURS, name)
        parts.append(describe(name, command.help, command.create_parser("manage.py", name)))
    return "\n".join(parts)


def describe(name: str, about: str, parser: ArgumentParser) -> str:
    shown = [action for action in parser._actions if not is_common(action)]
    places = [usage(action) for action in shown if not action.option_strings]
    lines = [f"## {' '.join([name, *places])}", about, ""]
    options = [action for action in shown if action.option_strings]
    lines += [f"- `{usage(action)}`{told(action)}" for action in options]
    return "\n".join(lines).rstrip() + "\n"


def is_common(action: Action) -> bool:
    """What Django gives to every command, and what the head of the page says for all."""
    common = {"help", "version", "verbosity", "settings", "pythonpath", "traceback", "no_color"}
    return action.dest in common | {"force_color", "skip_checks", "data"}


def usage(action: Action) -> str:
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices:
        metavar = "|".join(map(str, action.choices))
    if action.nargs == "+":
        metavar += "..."
    if not action.option_strings:
        return metavar
    return action.option_strings[-1] + ("" if action.nargs == 0 else f" {metavar}")


def told(action: Action) -> str:
    is_set = action.default not in (None, False, [], "") and not callable(action.default)
    is_told = str(action.default) in (action.help or "") or "default" in (action.help or "")
    is_plain = is_set and not is_told
    text = (action.help or "").replace("%%", "%")
    default = f"default {action.default}" if is_plain else ""
    parts = [part for part in (text, default) if part]
    return f": {'; '.join(parts)}" if parts else ""


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    import django

    django.setup()
    PATH.write_text(write_reference())
