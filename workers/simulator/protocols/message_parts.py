"""Images and tools of a request, in the forms of the three protocols; a wrong one is refused."""

import binascii
import json
from base64 import b64decode
from hashlib import sha256
from typing import Any

from workers.simulator.protocols.reading import refuse
from workers.simulator.records import Json, Tool

FIRST_BYTES = {
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"GIF8": "GIF",
    b"RIFF": "WebP",
}
BASE64 = ";base64,"


def read_images(body: Json) -> tuple[str, ...]:
    """A description of each: the same image has the same, whatever the protocol."""
    return tuple(
        _describe(source) for message in body.get("messages") or () for source in _sources(message)
    )


def _sources(message: Any) -> list[Any]:
    content = message.get("content")
    images = message.get("images") or ()
    parts = content if isinstance(content, list) else []
    found = [_source_of(part) for part in parts if isinstance(part, dict)]
    return [one for one in found if one is not None] + [
        f"data:{BASE64}{one}" for one in images if isinstance(images, list)
    ]


def _source_of(part: dict[str, Any]) -> Any:
    if part.get("type") == "image_url":
        found = part.get("image_url")
        return found.get("url") if isinstance(found, dict) else found or ""
    if part.get("type") == "image":
        source = part.get("source")
        if not isinstance(source, dict):
            return ""
        is_data = source.get("type") == "base64"
        return f"data:{BASE64}{source.get('data')}" if is_data else source.get("url")
    return None


def _describe(source: Any) -> str:
    if not isinstance(source, str) or not source.startswith(("data:", "http://", "https://")):
        raise refuse("An image must be an http(s) address or a data URI.", "messages")
    if not source.startswith("data:"):
        return f"an address with digest {sha256(source.encode()).hexdigest()[:12]}"
    try:
        raw = b64decode(source.partition(BASE64)[2], validate=True)
    except (binascii.Error, ValueError):
        raise refuse("An image is no base64.", "messages") from None
    kind = next((kind for start, kind in FIRST_BYTES.items() if raw.startswith(start)), "")
    if not kind:
        raise refuse("An image is none of PNG, JPEG, GIF and WebP.", "messages")
    return f"{kind}, {len(raw)} bytes, digest {sha256(raw).hexdigest()[:12]}"


def read_tools(body: Json) -> tuple[Tool, ...]:
    """Those that may be called: none if the request says so."""
    given = body.get("tools") or ()
    if not isinstance(given, list | tuple):
        raise refuse("'tools' must be a list.", "tools")
    tools = tuple(_read_tool(one) for one in given)
    choice = body.get("tool_choice")
    wanted = _name_chosen(choice)
    if wanted and wanted not in [tool.name for tool in tools]:
        raise refuse(f"'tool_choice' names {wanted!r}, which is no tool here.", "tool_choice")
    if choice == "none" or (isinstance(choice, dict) and choice.get("type") == "none"):
        return ()
    return tuple(tool for tool in tools if not wanted or tool.name == wanted)


def _name_chosen(choice: Any) -> str:
    if not isinstance(choice, dict):
        return ""
    named = choice.get("function", choice)
    return str(named.get("name") or "") if isinstance(named, dict) else ""


def _read_tool(one: Any) -> Tool:
    function = one.get("function", one) if isinstance(one, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise refuse("A tool must be an object with a name.", "tools")
    schema = function.get("parameters") or function.get("input_schema") or {}
    if not isinstance(schema, dict):
        raise refuse("The parameters of a tool must be a JSON Schema.", "tools")
    return Tool(function["name"], str(function.get("description") or ""), schema)


def text_of_tools(body: Json) -> list[str]:
    """What they add to the prompt, for counting tokens."""
    return [json.dumps(body["tools"])] if body.get("tools") else []
