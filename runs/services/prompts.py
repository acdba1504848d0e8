"""The only writer of the prompt library: what is stored has passed the schema."""

import re
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from pydantic import ValidationError

from runs.access import owns_prompt
from runs.formatting import counted
from runs.models import AuditAction, Prompt
from runs.selectors.prompts import Origin
from runs.selectors.quotas import quota_of
from runs.services.audit import Subject, record
from runs.services.people.sharing import share_prompt
from runs.services.quotas import check_storage, lock_person
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.json_text import to_json
from workers.engine.spec.line_ends import with_plain_line_ends
from workers.engine.spec.problems import explain
from workers.engine.spec.prompts import CONTENT
from workers.engine.spec.prompts import Prompt as WrittenPrompt

LONGEST_NAME = 120  # characters, as in the table
LONGEST_NOTE = 300
LARGEST = 256 * 1024  # bytes of JSON, as much as a whole document may have


class PromptTakenError(Exception):
    """The name is somebody else's."""


def save_prompt(
    owner: AbstractBaseUser | None,
    name: str,
    content: Any,
    note: str = "",
    *,
    share: bool = False,
    origin: Origin | None = None,
) -> Prompt:
    """The next version of a name; the same words again give the newest version as it is. `origin`
    is kept if these are its words: a person may have changed them since.

    ConfigurationError lists every problem, PromptTakenError says whose the name is not; then
    nothing was stored.
    """
    plain = name.strip()
    checked = check_prompt(plain, content, note)
    if owner is not None and not owns_prompt(owner, plain):
        raise PromptTakenError(
            f"The name {plain!r} is taken by somebody else's prompt. Choose another one."
        )
    try:
        kept = origin if origin and origin.content == checked else None
        return _store(owner, plain, checked, note.strip(), kept, share=share)
    except IntegrityError:
        told = "Somebody saved a version at the same moment. Look at it, then save yours again."
        raise ConfigurationError([Problem("", told)]) from None


@transaction.atomic
def _store(
    owner: AbstractBaseUser | None,
    name: str,
    content: dict[str, Any],
    note: str,
    origin: Origin | None,
    *,
    share: bool,
) -> Prompt:
    versions = Prompt.objects.select_for_update().filter(name=name)
    newest = versions.order_by("-version").first()
    if newest is not None and share:
        share_prompt(newest, owner, is_shared=True)
    if newest is not None and newest.content == content:
        return newest
    if owner is not None:
        lock_person(owner)
        check_storage(owner, quota_of(owner), len(to_json(content)))
    saved = Prompt.objects.create(
        name=name,
        version=newest.version + 1 if newest else 1,
        content=content,
        note=note,
        owner_id=newest.owner_id if newest else owner.pk if owner else None,
        is_shared=newest.is_shared or share if newest else share,
        team_id=newest.team_id if newest else None,
        run=origin.run if origin else None,
        candidate=origin.key if origin else "",
    )
    found_in = f"{origin.name} of run {origin.run.pk}" if origin else ""
    record(AuditAction.PROMPT_SAVED, saved, found_in, actor=owner)
    if share and newest is None:
        record(AuditAction.PROMPT_SHARED, Subject("prompt", name), actor=owner)
    saved.is_new = True
    return saved


def check_prompt(name: str, content: Any, note: str = "") -> dict[str, Any]:
    """What the library keeps of a prompt; else ConfigurationError."""
    problems = []
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        problems.append(Problem("name", f"Give 1 to {LONGEST_NAME} printable characters."))
    elif re.search(r"@\d+$", name):
        told = "A name cannot end in @ and a number, as in triage@3: that names a version."
        problems.append(Problem("name", told))
    if len(note.strip()) > LONGEST_NOTE or not note.strip().isprintable():
        problems.append(Problem("note", f"Give one line of at most {LONGEST_NOTE} characters."))
    if not isinstance(content, Mapping) or not set(content) & {"user", "messages"}:
        told = "A prompt is a mapping of fields: system and user, or messages; and tools."
        raise ConfigurationError([*problems, Problem("content", told)])
    if unknown := sorted(str(one) for one in set(content) - set(CONTENT)):
        told = f"Unknown field. Allowed here: {', '.join(CONTENT)}."
        problems.append(Problem(f"content.{unknown[0]}"[:200], told))
        raise ConfigurationError(problems)
    try:
        read = WrittenPrompt.model_validate({"name": "prompt", **with_plain_line_ends(content)})
    except ValidationError as error:
        found = explain(error, WrittenPrompt)
        problems += [Problem(f"content.{one.path}".rstrip("."), one.message) for one in found]
        raise ConfigurationError(problems) from None
    if len(to_json(read.content())) > LARGEST:
        problems.append(Problem("content", f"It is larger than {LARGEST // 1024} KB. Shorten it."))
    if problems:
        raise ConfigurationError(problems)
    return read.content()


@transaction.atomic
def delete_prompt(prompt: Prompt, user: AbstractBaseUser | None) -> int:
    """All versions; tells how many. Runs keep what they froze; a configuration that names it is
    refused until it names another."""
    found = Prompt.objects.filter(name=prompt.name)
    removed = found.count()
    told = counted(removed, "version")
    record(AuditAction.PROMPT_REMOVED, Subject("prompt", prompt.name), told, actor=user)
    found.delete()
    return removed
