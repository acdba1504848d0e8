"""The errors tab: failed trials grouped by what went wrong, with advice."""

import re
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Max, Min

from runs.models import Run, Score
from workers.engine.errors import CALL_ERRORS, CallError

MOST_MESSAGES = 2_000  # distinct messages read; after normalising, few groups are left
SAMPLES = 3

# What differs between two messages of the same kind: ids, quoted values and numbers, but for
# HTTP statuses, which tell a person what happened.
_VARIABLE = re.compile(
    r"'[^']*'|\"[^\"]*\"|\b0x[0-9a-f]+\b|\b[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b|\b(?![45]\d\d\b)\d+(?:\.\d+)?",
    re.IGNORECASE,
)
GAP = "…"
IS_FAILING = "is failing"  # in the reason of a run that waits for a model


@dataclass(slots=True)
class ErrorGroup:
    """Failures that are the same to a person."""

    error_class: str
    message: str
    advice: str
    count: int = 0
    first: datetime | None = None
    last: datetime | None = None
    samples: list[int] = field(default_factory=list)  # trial positions

    @property
    def search_text(self) -> str:
        """The longest part of the message that all of the group share."""
        return max((part.strip() for part in self.message.split(GAP)), key=len)


def normalise(message: str) -> str:
    """The message without what changes from one failure to the next."""
    return _VARIABLE.sub(GAP, " ".join(message.split()))


def advice_for(error_class: str) -> str:
    return CALL_ERRORS.get(error_class, CallError).advice


def group_errors(run: Run) -> list[ErrorGroup]:
    """The run's errors, most frequent first."""
    failures = (
        Score.objects.filter(run=run)
        .exclude(error_class="")
        .order_by()
        .values("error_class", "error_message")
        .annotate(
            times=Count("pk"),
            first=Min("finished"),
            last=Max("finished"),
            sample=Min("position"),
        )
        .order_by("-times", "error_class", "error_message")[:MOST_MESSAGES]
    )
    groups: dict[tuple[str, str], ErrorGroup] = {}
    for row in failures:
        key = (row["error_class"], normalise(row["error_message"]))
        group = groups.setdefault(key, ErrorGroup(*key, advice=advice_for(key[0])))
        group.count += row["times"]
        group.first = min(filter(None, (group.first, row["first"])))
        group.last = max(filter(None, (group.last, row["last"])))
        if len(group.samples) < SAMPLES:
            group.samples.append(row["sample"])
    return sorted(groups.values(), key=lambda group: -group.count)
