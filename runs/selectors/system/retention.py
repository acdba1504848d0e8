"""The rules by which the site removes things by itself, and what they would take next."""

from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db.models import Exists, Min, OuterRef, QuerySet

from runs.formatting import counted
from runs.models import (
    CachedReply,
    Configuration,
    Dataset,
    Endpoint,
    RetentionRules,
    Run,
    RunSample,
    RunStar,
    RunState,
)
from runs.selectors.cache_page import Pruning, matching, mean_bytes
from runs.selectors.clock import database_now
from runs.selectors.runs.baselines import not_compared_with
from runs.selectors.runs.run_filters import IN_USE

EVERY = timedelta(hours=1)  # how often the rules are looked at
LONGEST_DAYS = 36_500
MEGABYTE = 1_000_000


class Rules(NamedTuple):
    """None keeps for ever."""

    run_days: int | None
    sample_days: int | None
    cache_days: int | None
    cache_megabytes: int | None


class Line(NamedTuple):
    """What one rule does. `due` go when the rules are looked at next, then one at `next_at`."""

    field: str
    label: str
    about: str
    value: int | None  # that holds
    own: int | None  # that was set here, None: as the environment says
    due: str
    next_at: datetime | None


class Trash(NamedTuple):
    """What is deleted and can still be brought back, and when the first of it goes."""

    runs: int
    datasets: int
    endpoints: int
    configurations: int
    next_at: datetime | None


class Forecast(NamedTuple):
    lines: list[Line]
    looks_at: datetime | None  # None: there is no rule


def stored_rules() -> RetentionRules:
    return RetentionRules.objects.filter(pk=RetentionRules.ONLY).first() or RetentionRules()


def rules_of(stored: RetentionRules) -> Rules:
    """What was set here, else what the environment says."""
    given = {name: getattr(stored, name) for name in Rules._fields}
    usual: dict[str, int | None] = settings.RETENTION
    merged = {name: usual[name] if value is None else value for name, value in given.items()}
    return Rules(**{name: value or None for name, value in merged.items()})


def before_days(days: int) -> datetime:
    return database_now() - timedelta(days=days)


def kept_runs() -> QuerySet[Run]:
    """That a rule may take one day: ended, not put away by hand, starred by nobody, and nothing
    that others are compared with."""
    starred = RunStar.objects.filter(run=OuterRef("pk"))
    ended = Run.objects.exclude(state__in=RunState.live()).filter(IN_USE, ended__isnull=False)
    return not_compared_with(ended.exclude(Exists(starred)))


def runs_with_samples() -> QuerySet[Run]:
    samples = RunSample.objects.filter(run=OuterRef("pk"))
    ended = Run.objects.exclude(state__in=RunState.live()).filter(ended__isnull=False)
    return ended.filter(Exists(samples))


def too_many_answers(megabytes: int) -> Pruning | None:
    """The oldest answers that do not fit; sizes are about, as the page Cache tells them."""
    entries, mean = CachedReply.objects.count(), mean_bytes()
    surplus = entries - int(megabytes * MEGABYTE / mean)
    if surplus <= 0:
        return None
    moments = CachedReply.objects.order_by("created").values_list("created", flat=True)
    first_kept = moments[surplus:].first()
    return Pruning(before=first_kept or database_now())


def forecast() -> Forecast:
    stored = stored_rules()
    rules = rules_of(stored)
    lines = [run_line(rules), sample_line(rules), cache_line(rules), size_line(rules)]
    lines = [line._replace(own=getattr(stored, line.field)) for line in lines]
    has_rule = any(rules)
    looks_at = (stored.looked + EVERY if stored.looked else database_now()) if has_rule else None
    return Forecast(lines, looks_at)


def read_trash() -> Trash:
    runs = Run.objects.filter(remove_after__isnull=False)
    datasets = Dataset.objects.filter(remove_after__isnull=False).order_by()
    endpoints = Endpoint.objects.filter(remove_after__isnull=False)
    configurations = Configuration.objects.filter(remove_after__isnull=False)
    first = [
        runs.aggregate(first=Min("remove_after"))["first"],
        datasets.aggregate(first=Min("remove_after"))["first"],
        endpoints.aggregate(first=Min("remove_after"))["first"],
        configurations.aggregate(first=Min("remove_after"))["first"],
    ]
    return Trash(
        runs.count(),
        datasets.values("name").distinct().count(),
        endpoints.count(),
        configurations.count(),
        min((moment for moment in first if moment), default=None),
    )


def run_line(rules: Rules) -> Line:
    about = "Runs, so many days after their end. They can be brought back for a while; starred "
    about += "and archived ones stay."
    due, next_at = _of_runs(kept_runs(), rules.run_days)
    return Line("run_days", "Runs, days", about, rules.run_days, None, due, next_at)


def sample_line(rules: Rules) -> Line:
    about = "The points of the charts of a run, so many days after its end. Its scores stay."
    due, next_at = _of_runs(runs_with_samples(), rules.sample_days)
    return Line("sample_days", "Charts, days", about, rules.sample_days, None, due, next_at)


def _of_runs(runs: QuerySet[Run], days: int | None) -> tuple[str, datetime | None]:
    if days is None:
        return "", None
    limit = before_days(days)
    due = runs.filter(ended__lt=limit).count()
    first = runs.filter(ended__gte=limit).aggregate(first=Min("ended"))["first"]
    return counted(due, "run"), first + timedelta(days=days) if first else None


def cache_line(rules: Rules) -> Line:
    about, days = "Cached answers, so many days after they were stored.", rules.cache_days
    if days is None:
        return Line("cache_days", "Cache, days", about, None, None, "", None)
    limit = before_days(days)
    due = matching(Pruning(before=limit)).count()
    later = CachedReply.objects.filter(created__gte=limit).order_by("created")
    first = later.values_list("created", flat=True).first()
    next_at = first + timedelta(days=days) if first else None
    words = counted(due, "answer")
    return Line("cache_days", "Cache, days", about, days, None, words, next_at)


def size_line(rules: Rules) -> Line:
    about, most = "The oldest cached answers beyond this size.", rules.cache_megabytes
    due = ""
    if most is not None:
        selection = too_many_answers(most)
        due = counted(matching(selection).count() if selection else 0, "answer")
    return Line("cache_megabytes", "Cache, megabytes", about, most, None, due, None)
