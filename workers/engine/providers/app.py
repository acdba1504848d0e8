"""Somebody's own HTTP app: they say what to send, and where the answer is in what comes back.

The body is a JSON template. It is read as JSON first, and only then are texts put into its strings:
whatever a case holds, it stays within the string that the template gave it.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote, urlencode

import orjson
from pydantic import Field, field_validator

from workers.engine.calling.embeddings import EMBEDDINGS_PATH
from workers.engine.calling.flaws import flaw_of
from workers.engine.errors import MalformedAnswer, Refused
from workers.engine.json_text import to_json
from workers.engine.providers.answers import clean_text, read_json_answer, text_of_parts
from workers.engine.providers.manner import NOTHING, ProviderOptions
from workers.engine.providers.wire import HttpProvider, Written
from workers.engine.records import Reply, Request

PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
STEP = re.compile(r"[^.\[\]'\"]+")
NAMES = ("prompt", "system", "messages", "model")
USUAL_BODY = '{"input": "{{prompt}}"}'
NO_EMBEDDINGS = "An app of one's own makes no embeddings. Choose a model of another endpoint."


class AppOptions(ProviderOptions):
    method: Literal["POST", "PUT", "PATCH", "GET"] = Field(
        default="POST", title="Method", description="With GET the body's fields are the query."
    )
    path: str = Field(
        default="",
        max_length=300,
        pattern=r"^(/[!-~]*)?$",
        title="Path",
        description="What comes behind the base URL, as in /ask/. Empty: nothing.",
    )
    body: str = Field(
        default=USUAL_BODY,
        max_length=20_000,
        title="Body",
        description="JSON, with {{prompt}}, {{system}} and {{model}} within its texts; a text that "
        "is {{messages}} alone becomes the list of messages. What a case holds cannot leave its "
        "text.",
    )
    answer: str = Field(
        default="",
        max_length=300,
        title="Where the answer is",
        description="A path into the JSON that comes back, as in output.text or "
        "choices[0].message.content. Empty: the whole text that comes back.",
    )

    @field_validator("body")
    @classmethod
    def check_body(cls, text: str) -> str:
        try:
            document = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise ValueError(f"The body must be JSON, as in {USUAL_BODY} ({error})") from None
        used = set(PLACE.findall(to_json(document).decode()))
        if unknown := used - set(NAMES):
            known = ", ".join(NAMES)
            raise ValueError(f"Unknown: {', '.join(sorted(unknown))}. Choose of: {known}")
        if not used & {"prompt", "messages"}:
            raise ValueError(f"Put {{{{prompt}}}} or {{{{messages}}}} into it, as in {USUAL_BODY}")
        return text


class App(HttpProvider):
    options_model = AppOptions
    good = range(200, 300)

    @staticmethod
    def written(request: Request, options: Mapping[str, Any] = NOTHING) -> Written:
        told = AppOptions.model_validate(options)
        body = filled(orjson.loads(told.body), values_of(request))
        if told.method != "GET":
            return Written(told.path, body, told.method)
        return Written(f"{told.path}?{query_of(body)}", {}, told.method)

    async def send(self, request: Request) -> Reply:
        if request.path == EMBEDDINGS_PATH:
            raise Refused(NO_EMBEDDINGS)
        answer = await self._post(*self.written(request, self._options))
        path = str(self._options.get("answer", ""))
        text = clean_text(text_at(answer.body, path))
        return Reply(text, latency_ms=0.0, flaw=flaw_of(text, ""))


def values_of(request: Request) -> dict[str, Any]:
    messages = request.body["messages"]
    users = [text_of_parts(one["content"]) for one in messages if one["role"] == "user"]
    systems = [text_of_parts(one["content"]) for one in messages if one["role"] == "system"]
    return {
        "prompt": users[-1] if users else "",
        "system": "\n\n".join(systems),
        "messages": messages,
        "model": request.model,
    }


def filled(part: Any, values: Mapping[str, Any]) -> Any:
    """One pass: what was put in is not read again. Names of fields are the template's own."""
    if isinstance(part, dict):
        return {name: filled(value, values) for name, value in part.items()}
    if isinstance(part, list):
        return [filled(value, values) for value in part]
    if not isinstance(part, str):
        return part
    alone = PLACE.fullmatch(part.strip())
    if alone and alone[1] == "messages":
        return values["messages"]
    return PLACE.sub(lambda found: as_text(values[found[1]]), part)


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value).decode()


def query_of(body: Any) -> str:
    fields = body if isinstance(body, dict) else {"input": body}
    return urlencode({name: as_text(value) for name, value in fields.items()}, quote_via=quote)


def text_at(body: bytes, path: str) -> str:
    """MalformedAnswer if nothing is there."""
    if not path:
        return body.decode("utf-8", "replace")
    found = read_json_answer(body, lambda document: value_at(document, path), f"JSON with {path}")
    if found is None:
        raise MalformedAnswer(f"There is null at {path}.")
    return as_text(found)


def value_at(document: Any, path: str) -> Any:
    """LookupError or TypeError if the path leads nowhere."""
    for step in STEP.findall(path.strip().removeprefix("$")):
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document
