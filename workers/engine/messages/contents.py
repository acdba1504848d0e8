"""The content of one message in OpenAI's form: a text, or parts that are texts and images."""

from collections.abc import Mapping, Sequence
from typing import Any

from workers.engine.messages.images import IMAGE_TOKENS, describe_image

Content = str | Sequence[Mapping[str, Any]]


def text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def image_part(source: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": source}}


def image_of(part: Mapping[str, Any]) -> str | None:
    """Its address or data; None if the part is no image."""
    if part.get("type") != "image_url":
        return None
    found = part.get("image_url")
    source = found.get("url") if isinstance(found, Mapping) else found
    return source if isinstance(source, str) else None


def images_in(content: Any) -> list[str]:
    if isinstance(content, str) or not content:
        return []
    return [source for part in content if (source := image_of(part)) is not None]


def size_of(content: Any) -> int:
    """Characters."""
    if isinstance(content, str):
        return len(content)
    return sum(len(image_of(part) or part.get("text") or "") for part in content or ())


def as_text(content: Any) -> str:
    """For a person: images are told by their kind and size."""
    if isinstance(content, str):
        return content
    return "\n".join(_part_as_text(part) for part in content or ())


def _part_as_text(part: Mapping[str, Any]) -> str:
    source = image_of(part)
    return str(part.get("text", "")) if source is None else describe_image(source)


def guess_tokens(content: Any, characters_per_token: int) -> float:
    """A text by its length, an image as IMAGE_TOKENS."""
    if isinstance(content, str):
        return len(content) / characters_per_token
    texts = sum(len(part.get("text") or "") for part in content or ())
    return texts / characters_per_token + IMAGE_TOKENS * len(images_in(content))
