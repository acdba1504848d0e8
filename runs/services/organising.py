"""Tags, notes and stars on runs, and the views of the runs list that people save."""

from collections.abc import Collection, Iterable

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from runs.formatting import counted
from runs.models import AuditAction, Run, RunStar, RunTag, SavedView
from runs.models.organising import LONGEST_TAG, LONGEST_VIEW_NAME
from runs.selectors.runs.organised import stored_tags
from runs.services.audit import Subject, record
from workers.engine.errors import ConfigurationError, Problem

MOST_TAGS = 20  # on a run
LONGEST_NOTE = 4000  # characters
MOST_VIEWS = 50  # of a person


def read_tags(text: str) -> list[str]:
    """As a person types them: separated by commas."""
    return [tag for part in text.split(",") if (tag := " ".join(part.split()))]


@transaction.atomic
def set_tags(run: Run, user: AbstractBaseUser, names: Collection[str]) -> bool:
    """These and no others. ConfigurationError if one cannot be a tag; False if it was so."""
    Run.objects.select_for_update().get(pk=run.pk)
    before, after = set(stored_tags(run)), _checked(names)
    if before == after:
        return False
    RunTag.objects.filter(run=run, name__in=before - after).delete()
    RunTag.objects.bulk_create(RunTag(run=run, name=name) for name in sorted(after - before))
    moves = [*(f"+{one}" for one in sorted(after - before))]
    moves += [f"−{one}" for one in sorted(before - after)]
    record(AuditAction.RUN_TAGGED, run, ", ".join(moves), actor=user)
    return True


def change_tags(
    run: Run, user: AbstractBaseUser, add: Iterable[str] = (), remove: Iterable[str] = ()
) -> bool:
    """Some more and some less; the others stay. False if nothing changed."""
    return set_tags(run, user, (set(stored_tags(run)) - set(remove)) | set(add))


def _checked(names: Iterable[str]) -> set[str]:
    tags = {" ".join(name.split()) for name in names}
    for tag in tags:
        if not tag or len(tag) > LONGEST_TAG or not tag.isprintable() or "," in tag:
            told = f"A tag has 1 to {LONGEST_TAG} printable characters and no comma."
            raise ConfigurationError([Problem("tags", f"{tag[:60]!r} cannot be a tag. {told}")])
    if len(tags) > MOST_TAGS:
        told = f"{len(tags)} tags are too many. A run has {MOST_TAGS} at most."
        raise ConfigurationError([Problem("tags", told)])
    return tags


@transaction.atomic
def set_note(run: Run, user: AbstractBaseUser, text: str) -> bool:
    """False if it was so. The audit log says who wrote it, not what."""
    text = text.replace("\r\n", "\n").strip()
    if len(text) > LONGEST_NOTE or "\x00" in text:
        told = f"A note has {LONGEST_NOTE:,} characters at most; this one has {len(text):,}."
        raise ConfigurationError([Problem("note", told)])
    if not Run.objects.filter(pk=run.pk).exclude(note=text).update(note=text):
        return False
    record(AuditAction.RUN_NOTED, run, counted(len(text), "character"), actor=user)
    return True


def star_run(run: Run, user: AbstractBaseUser, *, is_starred: bool) -> bool:
    """For this person only. False if it was so."""
    if is_starred:
        return RunStar.objects.get_or_create(run=run, person_id=user.pk)[1]
    return bool(RunStar.objects.filter(run=run, person_id=user.pk).delete()[0])


@transaction.atomic
def save_view(user: AbstractBaseUser, name: str, query: str) -> SavedView:
    """Under a name of the person's own; one that exists is replaced."""
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_VIEW_NAME or not name.isprintable():
        told = f"Give the view a name of 1 to {LONGEST_VIEW_NAME} printable characters."
        raise ConfigurationError([Problem("name", told)])
    others = SavedView.objects.filter(owner_id=user.pk).exclude(name=name)
    if others.count() >= MOST_VIEWS:
        told = f"You have {MOST_VIEWS} views, which is the most. Remove one first."
        raise ConfigurationError([Problem("name", told)])
    saved, _ = SavedView.objects.update_or_create(
        owner_id=user.pk, name=name, defaults={"query": query}
    )
    record(AuditAction.VIEW_SAVED, Subject("view", name, saved.pk), query, actor=user)
    return saved


@transaction.atomic
def remove_view(user: AbstractBaseUser, view: SavedView) -> None:
    record(AuditAction.VIEW_REMOVED, Subject("view", view.name, view.pk), actor=user)
    view.delete()
