"""The only writer of configurations: what is stored has passed the schema."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from runs.models import AuditAction, Configuration
from runs.selectors.named_parts import refuse_written_code
from runs.services.audit import record
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.kinds import read_configuration
from workers.engine.spec.documents import read_document
from workers.engine.spec.line_ends import with_plain_line_ends

LONGEST_NAME = 120  # characters, as in the table
LONGEST_DESCRIPTION = 300
CHANGING_FIELDS = ["document", "kind", "version", "description", "is_preset", "updated"]


@transaction.atomic
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
    stored = Configuration.objects.select_for_update().filter(name=plain).first()
    if stored is None:
        return Configuration.objects.create(
            name=plain,
            kind=kind,
            document=_without_name(document),
            description=description,
            is_preset=is_preset,
            owner_id=owner.pk if owner else None,
        )
    stored.description, stored.is_preset = description, is_preset
    return _update(stored, kind, _without_name(document))


def _update(stored: Configuration, kind: str, document: dict[str, Any]) -> Configuration:
    """Only another document makes another version; a new description does not."""
    if stored.document != document:
        stored.document, stored.kind = document, kind
        stored.version += 1
    stored.save(update_fields=CHANGING_FIELDS)
    return stored


def check_configuration(
    name: str, document: Any, description: str = "", owner: AbstractBaseUser | None = None
) -> str:
    """The kind of a configuration that can be stored; else ConfigurationError."""
    problems = []
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        problems.append(Problem("name", f"Give 1 to {LONGEST_NAME} printable characters."))
    if len(description) > LONGEST_DESCRIPTION:
        problems.append(Problem("description", f"Give at most {LONGEST_DESCRIPTION} characters."))
    try:
        configuration = read_configuration(document)
        refuse_written_code(owner, configuration)
        problems += configuration.plugin_problems()
    except ConfigurationError as error:
        problems += error.problems
    if problems:
        raise ConfigurationError(problems)
    return configuration.kind


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
def delete_configuration(configuration: Configuration) -> None:
    """Remove a configuration. Runs made from it keep their own copy."""
    record(AuditAction.CONFIGURATION_REMOVED, configuration)
    configuration.delete()


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
