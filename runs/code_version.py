"""Which code runs here: kept with every run and every measurement."""

from django.conf import settings

from runs import __version__

SHOWN = 12  # characters of a commit: enough to find it


def code_version(note: str = "") -> str:
    """As in `0.1.0 (3a6a1b70c2de)`."""
    known = ", ".join(filter(None, (settings.COMMIT[:SHOWN], note)))
    return f"{__version__} ({known})" if known else __version__
