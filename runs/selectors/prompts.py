"""The prompt library: the newest version of each, the others, and their texts."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery

from runs.models import Configuration, Prompt, Run
from runs.selectors.named_parts import split_choice
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.records import EVALUATE
from workers.engine.spec.configuration import Configuration as ReadConfiguration
from workers.engine.spec.documents import write_document
from workers.engine.spec.library import Find, LibraryPrompt, fill_from_library
from workers.engine.spec.prompts import Prompt as WrittenPrompt


class Read(NamedTuple):
    """A document and what it describes, with the words of every prompt in it."""

    document: dict[str, Any]
    configuration: ReadConfiguration


class UsedPrompt(NamedTuple):
    """A prompt of the library that a run froze."""

    name: str
    version: int
    prompt: Prompt | None  # None: removed since, or not for this person


class Origin(NamedTuple):
    """A candidate of a run that has a prompt of its own."""

    run: Run
    key: str
    name: str
    content: dict[str, Any]


def origin_in(run: Run, key: str) -> Origin | None:
    """By the key of a candidate; without one the best, of a run that chose. None: there is none,
    or it has no prompt that could be saved, such as a combination of models."""
    ranked = run.candidates.filter(role=EVALUATE)
    chosen = -1 if run.chosen is None else run.chosen
    candidate = (ranked.filter(key=key) if key else ranked.filter(position=chosen)).first()
    written = candidate.document.get("prompt") if candidate else None
    if candidate is None or not isinstance(written, Mapping):
        return None
    content = WrittenPrompt.model_validate(dict(written)).content()
    return Origin(run, candidate.key, candidate.name, content)


def origin_of(prompt: Prompt, runs: QuerySet[Run]) -> Origin | None:
    """Where the words were found, for somebody who may see these runs."""
    run = runs.filter(pk=prompt.run_id).first() if prompt.run_id else None
    return origin_in(run, prompt.candidate) if run and prompt.candidate else None


def every_prompt() -> QuerySet[Prompt]:
    """For commands: whoever may run them on this machine can read the database anyway."""
    return Prompt.objects.all()


def newest_prompts(prompts: QuerySet[Prompt]) -> QuerySet[Prompt]:
    """One row per name, with how many versions there are."""
    same_name = Prompt.objects.filter(name=OuterRef("name"))
    newest = same_name.order_by("-version").values("pk")[:1]
    versions = same_name.order_by().values("name").annotate(n=Count("pk")).values("n")
    return (
        prompts.filter(pk=Subquery(newest))
        .annotate(versions=Subquery(versions, output_field=IntegerField()))
        .select_related("owner", "team")
        .order_by("name")
    )


def prompt_versions(prompts: QuerySet[Prompt], prompt: Prompt) -> list[Prompt]:
    """Newest first."""
    same_name = prompts.filter(name=prompt.name).select_related("owner", "team")
    return list(same_name.order_by("-version"))


def find_prompt(choice: str, prompts: QuerySet[Prompt]) -> Prompt | None:
    """By `name`, its newest version, or exactly `name@3`."""
    name, version = split_choice(choice)
    found = prompts.filter(name=name).order_by("-version")
    return (found if version is None else found.filter(version=version)).first()


def finder(prompts: QuerySet[Prompt]) -> Find:
    def find(name: str, version: int | None) -> LibraryPrompt | None:
        found = find_prompt(name if version is None else f"{name}@{version}", prompts)
        return LibraryPrompt(found.version, found.content) if found else None

    return find


def read_with_library(document: dict[str, Any], prompts: QuerySet[Prompt]) -> Read:
    """What a document describes, for somebody who may use these prompts. ConfigurationError lists
    every problem."""
    configuration = read_configuration(document)
    filled = fill_from_library(document, configuration, finder(prompts))
    if filled.problems:
        raise ConfigurationError(filled.problems)
    if filled.document is document:
        return Read(document, configuration)
    return Read(filled.document, read_configuration(filled.document))


def prompts_used(run: Run, prompts: QuerySet[Prompt]) -> list[UsedPrompt]:
    """Those of the library that the run froze, each once."""
    try:
        configuration = read_configuration(run.document)
    except ConfigurationError:  # of an earlier version
        return []
    named = {
        (one.library, one.version): None
        for _, one in configuration.written_prompts()
        if one.library and one.version
    }
    return [
        UsedPrompt(name, version, find_prompt(f"{name}@{version}", prompts))
        for name, version in named
    ]


def configurations_naming(prompt: Prompt, stored: QuerySet[Configuration]) -> list[str]:
    """The names of the configurations that take it from the library."""
    found = []
    for one in stored.order_by("name"):
        try:
            written = read_configuration(one.as_document).written_prompts()
        except ConfigurationError:  # of an earlier version
            continue
        if any(each.is_reference and each.library == prompt.name for _, each in written):
            found.append(one.name)
    return found


def prompt_text(content: Mapping[str, Any]) -> str:
    """A prompt as a person reads and compares it."""
    if "messages" in content:
        parts = [_message_text(one) for one in content["messages"]]
    else:
        named = [("System", content.get("system", "")), ("User", content.get("user", ""))]
        parts = [f"{title}:\n{text}" for title, text in named if text]
    tools = {name: content[name] for name in ("tools", "tool_choice") if name in content}
    return "\n\n".join([*parts, *([write_document(tools).strip()] if tools else [])])


def _message_text(message: Mapping[str, Any]) -> str:
    if "messages" in message:
        return f"Conversation:\n{message['messages']}"
    texts = [
        part["text"] if "text" in part else f"[image: {part['image']}]"
        for part in message["content"]
    ]
    return f"{message['role'].capitalize()}:\n" + "\n".join(texts)
