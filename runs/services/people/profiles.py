"""Keeps how a person wants to see the site."""

from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db import transaction

from runs.models import AuditAction, Profile, Theme
from runs.selectors.profiles import time_zones
from runs.services.audit import record


@transaction.atomic
def change_profile(person: AbstractBaseUser, **chosen: str) -> bool:
    """`theme` and `time_zone`, or one of them. False if it was so already. ValidationError names
    the field that is wrong."""
    _check(chosen)
    profile, _ = Profile.objects.select_for_update().get_or_create(person_id=person.pk)
    changed = {name: value for name, value in chosen.items() if getattr(profile, name) != value}
    if not changed:
        return False
    for name, value in changed.items():
        setattr(profile, name, value)
    profile.save(update_fields=list(changed))
    told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in changed.items())
    record(AuditAction.PROFILE_CHANGED, person, told, actor=person)
    return True


def _check(chosen: dict[str, str]) -> None:
    errors = {}
    if chosen.get("theme", Theme.SYSTEM) not in Theme:
        errors["theme"] = f"Choose one of: {', '.join(Theme.values)}."
    if "time_zone" in chosen and chosen["time_zone"] not in time_zones():
        errors["time_zone"] = "Unknown time zone. Give UTC, or a city as in Europe/Berlin."
    if errors:
        raise ValidationError(errors)
