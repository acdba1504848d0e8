"""Where the scores of a run of this process are kept: no database has them."""

import re
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

FOLDER = "results"
KEPT = 100  # the newest; who wants to keep one names a file with --export


def make_result_file(name: str) -> Path:
    """A new path in the data folder, which is closed to the other accounts of the machine."""
    folder = Path(settings.EVALSITE_DATA) / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    remove_oldest(folder)
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "run"
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    return folder / f"{moment}-{plain}.jsonl"


def remove_oldest(folder: Path) -> None:
    """Their names begin with their time."""
    for path in sorted(folder.glob("*.jsonl"))[: -(KEPT - 1)]:
        path.unlink(missing_ok=True)
