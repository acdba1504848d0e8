"""How a person wants to see the site, and the time zones to choose from."""

from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.contrib.auth.models import User

from runs.models import Profile, ProviderIdentity
from runs.roles import Person

UTC = "UTC"
AREAS = (
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Europe",
    "Indian",
    "Pacific",
)  # others are old names of the same zones


def profile_of(person: Person) -> Profile:
    """What is chosen. It comes with the account of a session, so it is no query of its own."""
    stored = getattr(person, "profile", None) if isinstance(person, User) else None
    return stored if isinstance(stored, Profile) else Profile()


def is_connected(person: Person) -> bool:
    """Whether the person signs in through the provider."""
    return ProviderIdentity.objects.filter(person_id=person.pk).exists()


@cache  # it looks through hundreds of files
def time_zones() -> tuple[str, ...]:
    """UTC, then cities by their part of the world."""
    named = (name for name in available_timezones() if name.partition("/")[0] in AREAS)
    return (UTC, *sorted(name for name in named if "/" in name))


def zone_of(person: Person) -> ZoneInfo:
    """UTC if none is chosen, or the machine does not know it any more."""
    chosen = profile_of(person).time_zone
    return ZoneInfo(chosen if chosen and chosen in time_zones() else UTC)
