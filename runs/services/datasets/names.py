"""What a dataset may be called, and by whom."""

import re

from django.contrib.auth.models import AbstractBaseUser

from runs.access import owns_dataset

LONGEST_NAME = 120  # characters, as in the table
MADE_BY = "cases made by "  # then the kind
PASTED = "pasted rows "  # then a random number: nobody waits for somebody else's version number


def problem_with_name(name: str) -> str:
    """Empty if it can be used."""
    plain = name.strip()
    if not plain or len(plain) > LONGEST_NAME or not plain.isprintable():
        return f"A dataset's name has 1 to {LONGEST_NAME} printable characters."
    for beginning in (MADE_BY, PASTED):
        if plain.startswith(beginning):
            return f"A name cannot begin with “{beginning.strip()}”: so are called rows of runs."
    if re.search(r"@\d+$", plain):
        return "A name cannot end in @ and a number, as in sums@3: that names a version."
    return ""


def is_taken(owner: AbstractBaseUser | None, name: str) -> bool:
    """Whether it is somebody else's: who names it in a configuration means theirs. Operators add
    versions for its owner, and without an owner it is the operator of the host who asks."""
    return owner is not None and not owns_dataset(owner, name.strip())
