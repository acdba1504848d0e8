"""The only writer of configurations: what is stored has passed the schema."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction

from runs.access import owns_configuration
from runs.models import AuditAction, Configuration, ConfigurationVersion
from runs.selectors.configurations import deleted_text, find_deleted
from runs.selectors.named_parts import refuse_written_code
from runs.selectors.quotas import quota_of
from runs.services.audit import record
from runs.services.quotas import check_storage, lock_person
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.json_text import to_json
from workers.engine.kinds import read_configuration
from workers.engine.spec.documents import read_document
from workers.engine.spec.line_ends import with_plain_line_ends

LONGEST_NAME = 120  # characters, as in the table
LONGEST_DESCRIPTION = 300
TOO_LONG = f"Give at most {LONGEST_DESCRIPTION} characters."
CHANGING_FIELDS = ["document", "kind", "version", "description", "is_preset", "updated"]


def save_configuration(
    owner: AbstractBaseUser | None,
    name: str,
    document: dict[str, Any],
    description: str = "",
    is_preset: bool = False,
) -> Configuration:
    """Store a configuration under its name; an existing one gets the next version.

    ConfigurationError lists every problem; then nothing was stored.
    """
    plain = name.strip()
    document = with_plain_line_ends(document)
    kind = check_configuration(plain, document, description, owner)
    if owner is not None and not owns_configuration(owner, plain):
        told = f"There is a configuration {plain!r} of somebody else already. Choose another name."
        raise ConfigurationError([Problem("name", told)])
    try:
        return _store(
            owner,
            Configuration(
                name=plain,
                kind=kind,
                document=_without_name(document),
                description=description,
                is_preset=is_preset,
                owner_id=owner.pk if owner else None,
            ),
        )
    except IntegrityError:
        told = "Somebody saved a version at the same moment. Look at it, then save yours again."
        raise ConfigurationError([Problem("", told)]) from None


@transaction.atomic
def _store(owner: AbstractBaseUser | None, given: Configuration) -> Configuration:
    """Only another document makes another version; a new description does not."""
    stored = Configuration.objects.select_for_update().filter(name=given.name).first()
    refuse_deleted(given.name)
    if stored is not None and stored.document == given.document:
        stored.description, stored.is_preset = given.description, given.is_preset
        stored.save(update_fields=["description", "is_preset", "updated"])
        return stored
    if owner is not None:
        lock_person(owner)
        check_storage(owner, quota_of(owner), len(to_json(given.document)))
    if stored is None:
        given.save()
        return _keep_version(given, owner)
    for field in ("document", "kind", "description", "is_preset"):
        setattr(stored, field, getattr(given, field))
    stored.version += 1
    stored.save(update_fields=CHANGING_FIELDS)
    return _keep_version(stored, owner)


def _keep_version(stored: Configuration, saver: AbstractBaseUser | None) -> Configuration:
    ConfigurationVersion.objects.create(
        configuration=stored,
        version=stored.version,
        kind=stored.kind,
        document=stored.document,
        saved_by_id=saver.pk if saver else None,
    )
    told = f"version {stored.version}"
    record(AuditAction.CONFIGURATION_SAVED, stored, told, actor=saver)
    return stored


@transaction.atomic
def describe_configuration(
    stored: Configuration, description: str, user: AbstractBaseUser | None = None
) -> bool:
    """Say what it is for. False if it said so already."""
    plain = description.strip()
    if len(plain) > LONGEST_DESCRIPTION:
        raise ConfigurationError([Problem("description", TOO_LONG)])
    others = Configuration.objects.filter(pk=stored.pk).exclude(description=plain)
    if not others.update(description=plain):
        return False
    record(AuditAction.CONFIGURATION_SAVED, stored, "its description", actor=user)
    stored.description = plain
    return True


def check_configuration(
    name: str, document: Any, description: str = "", owner: AbstractBaseUser | None = None
) -> str:
    """The kind of a configuration that can be stored; else ConfigurationError."""
    problems = []
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        problems.append(Problem("name", f"Give 1 to {LONGEST_NAME} printable characters."))
    if len(description) > LONGEST_DESCRIPTION:
        problems.append(Problem("description", TOO_LONG))
    try:
        configuration = read_configuration(document)
        refuse_written_code(owner, configuration)
        problems += configuration.plugin_problems()
    except ConfigurationError as error:
        problems += error.problems
    if problems:
        raise ConfigurationError(problems)
    return configuration.kind


def refuse_deleted(name: str) -> None:
    """Saving would not bring it back: with it a schedule would go on that nobody asked for."""
    deleted = find_deleted(name)
    if deleted is not None:
        raise ConfigurationError([Problem("name", deleted_text(deleted))])


def name_is_taken(name: str) -> bool:
    return Configuration.objects.filter(name=name.strip()).exists()


def import_configuration(
    owner: AbstractBaseUser | None, text: str, name: str | None = None
) -> Configuration:
    """Store what `export_configuration` wrote, or a person: YAML or JSON with a name in it, or
    under the name given. One that exists keeps its description and gets the next version."""
    document = read_document(text)
    if not isinstance(document, dict):
        raise ConfigurationError([Problem("", "A configuration is a mapping of fields.")])
    chosen = name or document.get("name", "")
    if not isinstance(chosen, str):
        raise ConfigurationError([Problem("name", "Give a text. Put a number into quotes.")])
    stored = Configuration.objects.filter(name=chosen.strip()).first()
    return save_configuration(
        owner,
        chosen,
        _without_name(document),
        description=stored.description if stored else "",
        is_preset=bool(stored and stored.is_preset),
    )


@transaction.atomic
def set_preset(configurations: list[Configuration], is_preset: bool) -> int:
    """Offer configurations on the new-run page, or no longer; tell how many."""
    for configuration in configurations:
        told = "offered" if is_preset else "withdrawn"
        record(AuditAction.PRESET_CHANGED, configuration, told)
    keys = [configuration.pk for configuration in configurations]
    return Configuration.objects.filter(pk__in=keys).update(is_preset=is_preset)


def _without_name(document: dict[str, Any]) -> dict[str, Any]:
    """The name is a column; a second copy in the document could only disagree."""
    return {field: value for field, value in document.items() if field != "name"}
