"""What a person may use of the site, and what they have used of it."""

from datetime import UTC, datetime, time, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import F, Sum, TextField
from django.db.models.functions import Cast, Length
from django.utils import timezone

from runs import formatting
from runs.models import (
    ConfigurationVersion,
    Dataset,
    DryRun,
    PersonQuota,
    Prompt,
    Run,
    RunState,
    SpentOnDay,
)
from runs.roles import Role, role_of

MEGABYTE = 1024 * 1024
NEAR = 0.8  # the share from which also a generous limit is shown


class Quota(NamedTuple):
    """None: as much as they like."""

    trials_per_run: int
    active_runs: int
    dollars_per_day: float | None
    stored_megabytes: int | None
    slots: int | None
    sockets: int

    @property
    def while_running(self) -> dict[str, Any]:
        """What workers keep to, kept with the run: they ask for it all the time."""
        kept = {"dollars_per_day": self.dollars_per_day, "slots": self.slots}
        return {name: value for name, value in kept.items() if value is not None}


class Use(NamedTuple):
    """What is used now; the dollars since midnight, UTC."""

    active_runs: int
    dollars_today: float
    stored_bytes: int


class QuotaLine(NamedTuple):
    """One limit as a person reads it before it bites."""

    text: str
    share: float

    @property
    def is_near(self) -> bool:
        return self.share >= NEAR


def site_quota() -> Quota:
    """Of whom nobody said anything."""
    return Quota(
        trials_per_run=settings.TRIALS_PER_RUN,
        active_runs=settings.LIVE_RUNS,
        dollars_per_day=settings.DOLLARS_PER_DAY,
        stored_megabytes=settings.STORED_MEGABYTES,
        slots=settings.SLOTS_PER_PERSON,
        sockets=settings.SOCKETS_PER_PERSON,
    )


def stored_for_role(role: Role) -> PersonQuota | None:
    return PersonQuota.objects.filter(role=role.value).first()


def stored_for_person(person: AbstractBaseUser) -> PersonQuota | None:
    return PersonQuota.objects.filter(person_id=person.pk).first()


def quota_of_role(role: Role | None) -> Quota:
    return _over(site_quota(), stored_for_role(role) if role else None)


def quota_of(person: AbstractBaseUser) -> Quota:
    """The person's own numbers, else those of the role, else the site's."""
    return _over(quota_of_role(role_of(person)), stored_for_person(person))


def _over(base: Quota, row: PersonQuota | None) -> Quota:
    said = {name: getattr(row, name) for name in Quota._fields} if row else {}
    return base._replace(**{name: value for name, value in said.items() if value is not None})


def use_of(person: AbstractBaseUser) -> Use:
    live = Run.objects.filter(owner_id=person.pk, state__in=RunState.live())
    return Use(
        active_runs=live.count(),
        dollars_today=spent_on_day(person.pk, timezone.now()),
        stored_bytes=bytes_of(person.pk),
    )


def spent_on_day(person_id: int, moment: datetime) -> float:
    """Dollars that runs, also removed ones, and dry runs of the person cost on the day of the
    moment, UTC, by known prices."""
    day = moment.astimezone(UTC).date()
    of_day = Run.objects.filter(owner_id=person_id, cost_day=day)
    in_runs = of_day.aggregate(sum=Sum(F("cost") - F("cost_before_day")))["sum"]
    midnight = datetime.combine(day, time(), UTC)
    tried = DryRun.objects.filter(
        owner_id=person_id, created__gte=midnight, created__lt=midnight + timedelta(days=1)
    )
    in_tries = tried.aggregate(sum=Sum("cost"))["sum"]
    removed = SpentOnDay.objects.filter(person_id=person_id, day=day)
    in_removed = removed.aggregate(sum=Sum("dollars"))["sum"]
    return sum(float(dollars or 0.0) for dollars in (in_runs, in_tries, in_removed))


def promised_to_runs(person_id: int) -> float:
    """Dollars that runs under way are still expected to cost, by the estimates of their launch."""
    live = Run.objects.filter(owner_id=person_id, state__in=RunState.live())
    return sum(max(0.0, dollars - cost) for dollars, cost in live.values_list("promised", "cost"))


def bytes_of(person_id: int) -> int:
    """Of datasets, prompts of the library, configurations and what runs stored. Runs from before
    this was counted count as nothing."""
    runs = Run.objects.filter(owner_id=person_id).aggregate(sum=Sum("stored_bytes"))
    datasets = Dataset.objects.filter(owner_id=person_id).aggregate(sum=Sum("size"))
    length = Length(Cast("content", TextField()))
    prompts = Prompt.objects.filter(owner_id=person_id).aggregate(sum=Sum(length))
    versions = ConfigurationVersion.objects.filter(configuration__owner_id=person_id)
    documents = versions.aggregate(sum=Sum(Length(Cast("document", TextField()))))
    return sum(int(one["sum"] or 0) for one in (runs, datasets, prompts, documents))


def quota_lines(quota: Quota, use: Use) -> list[QuotaLine]:
    """Those that somebody set, and the generous ones when they come near."""
    runs = formatting.counted(quota.active_runs, "run")
    lines = [
        QuotaLine(f"{use.active_runs:,} of {runs} under way", use.active_runs / quota.active_runs)
    ]
    if quota.active_runs == settings.LIVE_RUNS and not lines[0].is_near:
        lines = []
    if quota.dollars_per_day is not None:
        most, used = quota.dollars_per_day, use.dollars_today
        told = f"{formatting.dollars(used)} of {formatting.dollars(most)} used today (UTC)"
        lines.append(QuotaLine(told, used / most if most else 1.0))
    if quota.stored_megabytes is not None:
        most_bytes = quota.stored_megabytes * MEGABYTE
        size, most_size = map(formatting.file_size, (use.stored_bytes, most_bytes))
        share = use.stored_bytes / most_bytes if most_bytes else 1.0
        lines.append(QuotaLine(f"{size} of {most_size} stored", share))
    if quota.slots is not None:
        calls = formatting.counted(quota.slots, "call")
        lines.append(QuotaLine(f"{calls} at once over all runs", 0.0))
    if quota.sockets != settings.SOCKETS_PER_PERSON:
        lines.append(QuotaLine(f"{formatting.counted(quota.sockets, 'live page')} at once", 0.0))
    if quota.trials_per_run != settings.TRIALS_PER_RUN:
        lines.append(QuotaLine(f"{quota.trials_per_run:,} trials a run", 0.0))
    return lines
