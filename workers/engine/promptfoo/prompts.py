"""Prompts and providers of a promptfoo file."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from workers.engine.promptfoo.notes import Notes
from workers.engine.spec.template import PLACEHOLDER

FindEndpoint = Callable[[str, str], str | None]
"""The endpoint of a site for a provider's word and a model's name; None: there is none."""

PARAMETERS = ("temperature", "max_tokens", "top_p", "seed", "stop", "frequency_penalty")
NOT_A_MODEL = ("chat", "completion", "messages", "responses")  # between the provider and the model
MOST_PROMPTS, MOST_MODELS = 500, 100  # as in a configuration
ROLES = ("system", "user", "assistant")
NUNJUCKS = re.compile(r"\{%|\{\{")


def read_prompts(given: Any, notes: Notes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    names: set[str] = set()
    for number, prompt in enumerate(listed(given, "prompts", MOST_PROMPTS, notes)):
        path = f"prompts.{number}"
        text, name = text_and_name(prompt)
        if not text:
            notes.file(path, prompt, "Put the text of the prompt in its place.")
            continue
        called = unique((name or f"prompt {number + 1}")[:90], names)
        names.add(called)
        found.append({"name": called, **messages_of(text, path, notes)})
        if NUNJUCKS.search(PLACEHOLDER.sub("", text)):
            notes.tell(path, "Only {{name}} is filled in: other signs of Nunjucks stay.")
    return found


def listed(given: Any, path: str, most: int, notes: Notes) -> list[Any]:
    """One or several. A file may hold a hundred thousand, and each is looked up and compared."""
    found = given if isinstance(given, list) else [given]
    if len(found) > most:
        notes.tell(f"{path}.{most}", f"More than {most}: this and what follows is left out.")
    return found[:most]


def text_and_name(prompt: Any) -> tuple[str, str]:
    fields = prompt if isinstance(prompt, Mapping) else {"raw": prompt}
    text, name = fields.get("raw"), fields.get("label") or fields.get("id")
    is_text = isinstance(text, str) and text.strip() and not text.startswith("file://")
    return (str(text) if is_text else ""), (name if isinstance(name, str) else "")


def messages_of(text: str, path: str, notes: Notes) -> dict[str, Any]:
    """A list of messages in JSON, or one text of the user."""
    if not text.lstrip().startswith("["):
        return {"user": text}
    try:
        messages = json.loads(text)
        parts = [{"role": one["role"], "content": one["content"]} for one in messages]
        is_chat = all(p["role"] in ROLES and isinstance(p["content"], str) for p in parts)
    except (ValueError, TypeError, KeyError, RecursionError):
        is_chat = False
    if not is_chat:
        notes.tell(path, "These are no messages of system, user and assistant: sent as one text.")
        return {"user": text}
    return {"messages": parts}


def unique(name: str, taken: set[str]) -> str:
    number = 2
    candidate = name
    while candidate in taken:
        candidate, number = f"{name} ({number})", number + 1
    return candidate


def read_models(given: Any, find: FindEndpoint, notes: Notes) -> list[Any]:
    found: list[Any] = []
    for number, provider in enumerate(listed(given, "providers", MOST_MODELS, notes)):
        model = read_model(provider, f"providers.{number}", find, notes)
        if model is not None and model not in found:
            found.append(model)
    return found


def read_model(provider: Any, path: str, find: FindEndpoint, notes: Notes) -> Any:
    """As a configuration writes it; None if it is no model that a provider of ours could have."""
    identity, options = split_provider(provider)
    word, _, rest = identity.partition(":")
    parts = rest.split(":")
    if len(parts) > 1 and parts[0] in NOT_A_MODEL:
        parts = parts[1:]
    model = ":".join(parts)
    if word in ("file", "exec", "python", "golang", "http", "https"):
        instead = "Add an endpoint for what it calls, and name it as endpoint/model."
        notes.file(path, identity, instead)
        return None
    if not word or not model:
        notes.unknown(path, identity or provider)
        return None
    endpoint = find(word, model)
    if endpoint is None:
        notes.tell(path, f"No endpoint here has {model!r}. Add one named {word!r}, or change it.")
    config = options.get("config") if isinstance(options.get("config"), Mapping) else {}
    for name in config or {}:
        if name not in PARAMETERS:
            notes.tell(f"{path}.config.{name}", "Left out: endpoints have addresses and keys.")
    parameters = {name: config[name] for name in PARAMETERS if config and name in config}
    label = f"{(endpoint or word)[:100]}/{model[:200]}"
    if not parameters:
        return label
    return {"endpoint": endpoint or word, "model": model, "parameters": parameters}


def split_provider(provider: Any) -> tuple[str, Mapping[str, Any]]:
    """Its name, and what else is said of it: {id: …, config: …} or {name: {config: …}}."""
    if isinstance(provider, str):
        return provider, {}
    if not isinstance(provider, Mapping) or not provider:
        return "", {}
    if isinstance(provider.get("id"), str):
        return provider["id"], provider
    name, options = next(iter(provider.items()))
    return str(name), options if isinstance(options, Mapping) else {}
