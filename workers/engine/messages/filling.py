"""Fills a prompt with the fields of a case: its messages as they are sent."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from workers.engine.messages.contents import Content, image_part, images_in, size_of, text_part
from workers.engine.messages.images import MOST_IMAGES, check_image
from workers.engine.messages.order import ROLES, order_problem
from workers.engine.spec.template import TemplateError, render

MOST_MESSAGES = 500  # with those of a conversation from the case
MOST_CHARACTERS = 4_000_000  # of all messages: the same column may be named many times

Fields = Mapping[str, str]
Messages = list[dict[str, Any]]


def fill(prompt: Mapping[str, Any], fields: Fields) -> Messages:
    """The messages as they are sent. TemplateError says why this case cannot fill them."""
    if prompt.get("messages"):
        return _fill_messages(prompt["messages"], fields)
    messages = [{"role": "user", "content": render(prompt["user"], fields)}]
    if prompt["system"]:
        messages.insert(0, {"role": "system", "content": render(prompt["system"], fields)})
    return messages


def texts_of(prompt: Mapping[str, Any]) -> list[str]:
    """Every text of a prompt that is filled from a case."""
    if not prompt.get("messages"):
        return [prompt[name] for name in ("system", "user") if name in prompt]
    return [text for item in prompt["messages"] for text in _texts_in(item)]


def _texts_in(item: Mapping[str, Any]) -> list[str]:
    if "messages" in item:
        return [item["messages"]]
    return [text for part in item["content"] for text in part.values()]


def _fill_messages(items: Sequence[Mapping[str, Any]], fields: Fields) -> Messages:
    messages: Messages = []
    for item in items:
        if "messages" in item:
            messages += read_conversation(render(item["messages"], fields), item["messages"])
        else:
            content = _plain([_fill_part(part, fields) for part in item["content"]])
            messages.append({"role": item["role"], "content": content})
    _check_whole(messages)
    return messages


def _fill_part(part: Mapping[str, str], fields: Fields) -> dict[str, Any]:
    if "image" in part:
        return image_part(check_image(render(part["image"], fields)))
    return text_part(render(part["text"], fields))


def _plain(parts: list[dict[str, Any]]) -> Content:
    """One text is sent as such: every server reads it, and it is the same call however written."""
    is_text = len(parts) == 1 and parts[0]["type"] == "text"
    return str(parts[0]["text"]) if is_text else parts


def _check_whole(messages: Messages) -> None:
    if problem := order_problem([message["role"] for message in messages]):
        raise TemplateError(problem)
    if len(messages) > MOST_MESSAGES:
        raise TemplateError(f"The prompt has more than {MOST_MESSAGES} messages. Shorten it.")
    images = [source for message in messages for source in images_in(message["content"])]
    if len(images) > MOST_IMAGES:
        raise TemplateError(f"The prompt has more than {MOST_IMAGES} images. Leave some out.")
    if sum(size_of(message["content"]) for message in messages) > MOST_CHARACTERS:
        raise TemplateError(
            f"The messages have more than {MOST_CHARACTERS:,} characters together. Shorten the "
            "prompt or the fields it names."
        )


def read_conversation(text: str, where: str) -> Messages:
    """The messages that a field of a case holds, as a JSON list. An empty field is none."""
    if not text.strip():
        return []
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise TemplateError(
            f"{where} should hold a JSON list of messages, but is no JSON ({error}). Write "
            f"{_example()}."
        ) from None
    if not isinstance(found, list):
        raise TemplateError(f"{where} should hold a JSON list of messages, as in {_example()}.")
    return [_read_message(one, f"{where}, message {n}") for n, one in enumerate(found, start=1)]


def _read_message(found: Any, where: str) -> dict[str, Any]:
    if not isinstance(found, dict) or set(found) != {"role", "content"}:
        raise TemplateError(f"{where}: a message has a role and a content, and nothing else.")
    role, content = found["role"], found["content"]
    if role not in ROLES:
        shown = json.dumps(role)[:40]
        raise TemplateError(f"{where}: the role is {shown}. Allowed: {', '.join(ROLES)}.")
    if isinstance(content, str):
        return {"role": role, "content": content}
    if not isinstance(content, list) or not content:
        raise TemplateError(f"{where}: the content is a text, or a list of texts and images.")
    parts = [_read_part(part, where) for part in content]
    if role != "user" and any(part["type"] != "text" for part in parts):
        raise TemplateError(f"{where}: only messages of the user may have images.")
    return {"role": role, "content": _plain(parts)}


def _read_part(part: Any, where: str) -> dict[str, Any]:
    """In our form or OpenAI's: many conversations were kept as they were sent."""
    if isinstance(part, dict):
        source = part.get("image") or part.get("image_url")
        source = source.get("url") if isinstance(source, dict) else source
        if isinstance(source, str):
            return image_part(check_image(source))
        if isinstance(part.get("text"), str):
            return text_part(part["text"])
    raise TemplateError(f'{where}: a part is {{"text": …}} or {{"image": …}}.')


def _example() -> str:
    return '[{"role": "user", "content": "Hello"}]'
