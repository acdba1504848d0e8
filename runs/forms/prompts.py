"""A prompt as forms show it: system and user, or messages; tools; or a name of the library."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django.http import QueryDict

from runs.kinds.section import TEMPLATE_ROW, next_number, row_numbers
from runs.selectors.named_parts import split_choice
from workers.engine.errors import ConfigurationError
from workers.engine.spec.documents import read_document
from workers.engine.spec.prompts import (
    MOST_ITEMS,
    Conversation,
    ImagePart,
    Message,
    PromptParts,
    TextPart,
)

COLUMN = "column"  # beside the roles: the place of a conversation that a column holds
ROLES = {
    "system": "System",
    "user": "User",
    "assistant": "Assistant",
    COLUMN: "Conversation of a column",
}
TEXTS = ("name", "system", "user", "tools", "tool_choice", "library", "kept")

# Examples of what a field may hold; too long for a line of a template.
EXAMPLES = {
    "image_example": "{{picture}}, an address or data:image/png;base64,…",
    "system_example": "Answer with the number only.",
    "tools_example": "- name: weather\n"
    "  parameters: {type: object, properties: {city: {type: string}}}",
}


@dataclass(slots=True)
class MessageInput:
    prefix: str  # of the prompt that it belongs to
    index: int
    role: str = "user"
    text: str = ""
    image: str = ""

    roles: ClassVar[Mapping[str, str]] = ROLES

    @property
    def field(self) -> str:
        return f"id_{self.prefix}-message-{self.index}"

    def document(self) -> dict[str, Any]:
        if self.role == COLUMN:
            return {"messages": self.text.strip()}
        if not self.image.strip():
            return {"role": self.role, "content": self.text}
        text = [{"text": self.text}] if self.text else []
        return {"role": self.role, "content": [*text, {"image": self.image.strip()}]}


# What a script makes new rows of.
MESSAGE_ROW = MessageInput(f"message-of-{TEMPLATE_ROW}", TEMPLATE_ROW)


@dataclass(slots=True)
class PromptFields:
    """What prompts and steps have in common. Every field as text, as it was typed."""

    thing: ClassVar[str] = "prompt"
    choices: ClassVar[Sequence[str]] = ("", "auto", "required", "none")

    index: int
    name: str = ""
    system: str = ""
    user: str = ""
    messages: list[MessageInput] = field(default_factory=list)
    tools: str = ""  # as YAML
    tool_choice: str = ""
    library: str = ""  # `name` or `name@3`: then nothing else counts but the name
    kept: str = ""  # `name@3`, of which the words are a copy

    @property
    def prefix(self) -> str:
        return f"{self.thing}-{self.index}"

    @property
    def field(self) -> str:
        return f"id_{self.prefix}"

    @property
    def is_untouched(self) -> bool:
        return not (self.name or self.system or self.messages or self.tools or self.library)

    def words(self) -> dict[str, Any]:
        """What is sent, or the name of it in the library."""
        if self.library:
            return named(self.library)
        document: dict[str, Any] = {"system": self.system, "user": self.user}
        if self.messages:
            document = {"messages": [message.document() for message in self.messages]}
        if self.tools.strip():
            document["tools"] = read_tools(self.tools)
        if self.tool_choice.strip():
            document["tool_choice"] = self.tool_choice.strip()
        return {**document, **(named(self.kept) if self.kept else {})}

    def prompt_document(self) -> dict[str, Any]:
        """A prompt of the library has its name there, unless another one was given."""
        name = {} if self.library and not self.name else {"name": self.name}
        return {**name, **self.words()}

    def change_messages(self, post: QueryDict) -> bool:
        """Add or remove a message, for pages without scripts; whether that was asked for."""
        gone = post.get("remove_message", "")
        if gone.startswith(f"{self.prefix}-") and gone != self.prefix:
            number = gone.removeprefix(f"{self.prefix}-")
            self.messages = [one for one in self.messages if str(one.index) != number]
            return True
        if post.get("add_message") != self.prefix:
            return False
        if not self.messages:
            self.write_as_messages()
        else:
            self.messages.append(MessageInput(self.prefix, next_number(self.messages)))
        return True

    def write_as_messages(self) -> None:
        texts = [("system", self.system), ("user", self.user)]
        told = [(role, text) for role, text in texts if text or role == "user"]
        self.messages = [
            MessageInput(self.prefix, number, role, text)
            for number, (role, text) in enumerate(told)
        ]

    def find_part(self, parts: Sequence[str]) -> str:
        """The id of the field for a problem at this path below the prompt."""
        part = parts[0] if parts else "user"
        if part == "messages":
            return f"{self.field}-messages"
        return f"{self.field}-{part if part in TEXTS else 'user'}"


def posted_prompt(post: QueryDict, thing: str, number: int) -> dict[str, Any]:
    """The fields that were sent, for a PromptFields."""
    prefix = f"{thing}-{number}"
    texts = {name: post.get(f"{prefix}-{name}", "") for name in TEXTS}
    messages = [
        MessageInput(
            prefix,
            one,
            post.get(f"{prefix}-message-{one}-role", "user"),
            post.get(f"{prefix}-message-{one}-text", ""),
            post.get(f"{prefix}-message-{one}-image", ""),
        )
        for one in row_numbers(post, f"{prefix}-messages", MOST_ITEMS)
    ]
    return {**texts, "name": texts["name"].strip(), "messages": messages}


def filled_prompt(prompt: PromptParts, thing: str, number: int) -> dict[str, Any]:
    """The fields that a stored prompt fills. What they cannot show is shown as YAML instead, by
    whoever compares."""
    named_as = f"{prompt.library}@{prompt.version}" if prompt.version else prompt.library or ""
    if prompt.is_reference:
        return {"name": prompt.name, "library": named_as}
    tools = [tool.model_dump() for tool in prompt.tools]
    return {
        "name": prompt.name,
        "system": prompt.system,
        "user": prompt.user,
        "messages": [
            message_input(f"{thing}-{number}", place, one)
            for place, one in enumerate(prompt.messages or ())
        ],
        "tools": json.dumps(tools, indent=2, ensure_ascii=False) if tools else "",
        "tool_choice": prompt.tool_choice,
        "kept": named_as,
    }


def message_input(prefix: str, number: int, item: Message | Conversation) -> MessageInput:
    if isinstance(item, Conversation):
        return MessageInput(prefix, number, COLUMN, item.messages)
    texts = [part.text for part in item.content if isinstance(part, TextPart)]
    images = [part.image for part in item.content if isinstance(part, ImagePart)]
    text, image = (found[0] if found else "" for found in (texts, images))
    return MessageInput(prefix, number, item.role, text, image)


def named(choice: str) -> dict[str, Any]:
    name, version = split_choice(choice)
    return {"library": name, **({"version": version} if version else {})}


def read_tools(text: str) -> Any:
    """A text that is no YAML goes to the schema as it is, which says what it should be."""
    try:
        return read_document(text)
    except ConfigurationError:
        return text
