"""A prompt as configurations and the library write it: system and user, or messages; and tools."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from workers.engine.messages.order import UNKNOWN, order_problem
from workers.engine.spec.model_choice import Name, Strict
from workers.engine.spec.parts import SYSTEM, USER, Template, refuse_twins
from workers.engine.spec.template import PLACEHOLDER
from workers.engine.spec.tools import MOST_TOOLS, Tool, choice_problem

LONGEST_TEXT = 100_000  # characters of one template
MOST_ITEMS = 100  # messages that a person writes
MOST_PARTS = 50
DEFAULT_USER = "{{question}}"
MESSAGES = (
    "The messages instead of system and user: system first, then user and assistant in turn, the "
    'last one the user\'s. {messages: "{{column}}"} puts a conversation from the case in its place.'
)
TOOLS = "Functions that the model may call. A call is the answer, as JSON with name and arguments."
CHOICE = "auto (as if empty), required (some tool), none, or the name of the tool to be called."
LIBRARY = "The name of a prompt in the library of this site, instead of a text."
VERSION = "Of the prompt in the library. Empty: the newest; a run freezes the one it found."
CONTENT = ("system", "user", "messages", "tools", "tool_choice")

LongText = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]


class TextPart(Strict):
    """A part of a message that is text."""

    text: LongText = Field(description="A template.")


class ImagePart(Strict):
    """A part of a user message that is an image. An address is fetched by the provider, never by
    this site; an estimate counts 1,000 tokens for each."""

    image: LongText = Field(
        description="A template that gives an http(s) address, or data:image/png;base64,… (PNG, "
        "JPEG, GIF or WebP)."
    )


def part_of(value: Any) -> str:
    has_image = isinstance(value, ImagePart) or (isinstance(value, Mapping) and "image" in value)
    return ImagePart.__name__ if has_image else TextPart.__name__


def text_as_part(value: Any) -> Any:
    return [{"text": value}] if isinstance(value, str) else value


AnyPart = Annotated[
    Annotated[TextPart, Tag(TextPart.__name__)] | Annotated[ImagePart, Tag(ImagePart.__name__)],
    Discriminator(part_of),
]
Content = Annotated[
    list[AnyPart],
    Field(min_length=1, max_length=MOST_PARTS),
    BeforeValidator(text_as_part, json_schema_input_type=LongText | list[AnyPart]),
]


class Message(Strict):
    """One message."""

    role: Literal["system", "user", "assistant"] = Field(description="Who speaks.")
    content: Content = Field(description="A template, or a list of texts and images.")

    @model_validator(mode="after")
    def check_images(self) -> "Message":
        if self.role != "user" and any(isinstance(part, ImagePart) for part in self.content):
            raise ValueError("Only messages of the user may have images.")
        return self


class Conversation(Strict):
    """The place of a conversation that a column of the dataset holds."""

    messages: Annotated[str, Field(max_length=200)] = Field(
        description='The column, as in "{{history}}": a JSON list of messages with role and '
        "content. Empty in a case: none."
    )

    @field_validator("messages")
    @classmethod
    def check_column(cls, messages: str) -> str:
        if not PLACEHOLDER.fullmatch(messages.strip()):
            raise ValueError('Name one column and nothing else, as in "{{history}}".')
        return messages


def item_of(value: Any) -> str:
    is_named = isinstance(value, Mapping) and "messages" in value
    is_place = is_named or isinstance(value, Conversation)
    return Conversation.__name__ if is_place else Message.__name__


AnyMessage = Annotated[
    Annotated[Message, Tag(Message.__name__)] | Annotated[Conversation, Tag(Conversation.__name__)],
    Discriminator(item_of),
]


class PromptParts(Strict):
    """What prompts of candidates and calls of pipelines have in common."""

    name: Name
    system: Annotated[str, Field(max_length=LONGEST_TEXT)] = Field("", description=SYSTEM)
    user: LongText = Field(DEFAULT_USER, description=USER)
    messages: Annotated[list[AnyMessage], Field(min_length=1, max_length=MOST_ITEMS)] | None = (
        Field(None, description=MESSAGES)
    )
    tools: Annotated[list[Tool], Field(max_length=MOST_TOOLS)] = Field([], description=TOOLS)
    tool_choice: Annotated[str, Field(max_length=64)] = Field("", description=CHOICE)
    library: Annotated[str, Field(min_length=1, max_length=120)] | None = Field(
        None, description=LIBRARY
    )
    version: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] | None = Field(
        None, description=VERSION
    )

    @model_validator(mode="before")
    @classmethod
    def name_by_library(cls, value: Any) -> Any:
        if not isinstance(value, Mapping) or "name" in value or not value.get("library"):
            return value
        version = value.get("version")
        name = f"{value['library']} v{version}" if version else value["library"]
        return {**value, "name": name}

    @field_validator("messages")
    @classmethod
    def check_order(cls, messages: list[AnyMessage] | None) -> list[AnyMessage] | None:
        roles = [one.role if isinstance(one, Message) else UNKNOWN for one in messages or ()]
        if messages and (problem := order_problem(roles)):
            raise ValueError(problem)
        return messages

    @field_validator("tools")
    @classmethod
    def check_tools(cls, tools: list[Tool]) -> list[Tool]:
        refuse_twins(tool.name for tool in tools)
        return tools

    @model_validator(mode="after")
    def check_parts(self) -> "PromptParts":
        if self.messages and (self.system or self.user != DEFAULT_USER):
            raise ValueError("Give messages, or system and user, but not both.")
        if self.tool_choice and (problem := choice_problem(self.tool_choice, self.tools)):
            raise ValueError(f"tool_choice: {problem}")
        if self.tool_choice and not self.tools:
            raise ValueError("tool_choice chooses among tools: declare them, or leave it out.")
        if self.version and not self.library:
            raise ValueError("A version is one of a library prompt: name it as library.")
        if self.library and not self.is_reference and not self.version:
            raise ValueError(
                "Give library, or a text of your own, but not both. What runs froze has a version."
            )
        return self

    @property
    def is_reference(self) -> bool:
        """Whether its content is in the library, and not here."""
        return self.library is not None and not self.model_fields_set.intersection(CONTENT)

    def content(self) -> dict[str, Any]:
        """What is sent, as candidates and the library keep it. What is not used is left out, so
        that keys stay when prompts learn something new."""
        document: dict[str, Any] = {"system": self.system, "user": self.user}
        if self.messages:
            document = {"messages": [one.model_dump() for one in self.messages]}
        if self.tools:
            document["tools"] = [tool.model_dump() for tool in self.tools]
        if self.tool_choice:
            document["tool_choice"] = self.tool_choice
        return document

    def document(self) -> dict[str, Any]:
        """Where it came from is not part of it: the same words are the same prompt."""
        return {"name": self.name, **self.content()}

    def templates(self, path: str, known: tuple[str, ...] = ()) -> Iterator[Template]:
        if self.is_reference:
            return
        if not self.messages:
            yield Template(f"{path}.system", self.system, known)
            yield Template(f"{path}.user", self.user, known)
        for number, item in enumerate(self.messages or ()):
            for where, text in texts_in(item):
                yield Template(f"{path}.messages.{number}.{where}", text, known)


def texts_in(item: Message | Conversation) -> Iterator[tuple[str, str]]:
    """Each with its place. A content that is one text is written without parts."""
    if isinstance(item, Conversation):
        yield "messages", item.messages
        return
    for number, part in enumerate(item.content):
        where = "content" if len(item.content) == 1 else f"content.{number}"
        yield where, part.image if isinstance(part, ImagePart) else part.text


class Prompt(PromptParts):
    """A prompt: what is sent for a case. {{column}} stands for a field of the case."""

    name: Name = Field(description="How the prompt is called in results.")
