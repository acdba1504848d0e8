"""The command `evalsite`: `evalsite serve` starts everything, `evalsite help` lists the rest.
`manage.py` of a checkout does the same."""

from __future__ import annotations

import gc
import os
import sys

# A start makes a million objects that stay. To look for garbage after every 700 of them, as Python
# does by default, takes a tenth of its time.
OBJECTS_BEFORE_GARBAGE = 20_000


def main() -> None:
    gc.set_threshold(OBJECTS_BEFORE_GARBAGE)
    try:
        run(sys.argv)
    except KeyboardInterrupt:
        sys.exit(130)  # 128 + SIGINT, as shells have it


def run(argv: list[str]) -> None:
    argv = take_data_option(argv)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    from evalsite.command_line import CommandLine
    from evalsite.env import EnvironmentProblem

    try:
        CommandLine(argv).execute()
    except EnvironmentProblem as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the end
        sys.exit(141)  # 128 + SIGPIPE: nobody reads the output any more


def take_data_option(argv: list[str]) -> list[str]:
    """Put --data into the environment, for every command, before the settings are read."""
    kept: list[str] = []
    rest = iter(argv)
    for argument in rest:
        name, has_value, value = argument.partition("=")
        if name != "--data":
            kept.append(argument)
            continue
        folder = value if has_value else next(rest, "")
        if not folder:
            sys.exit("--data needs a folder: --data DIR")
        os.environ["EVALSITE_DATA"] = os.path.abspath(folder)
    return kept


if __name__ == "__main__":
    main()
