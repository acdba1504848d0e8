"""Tools: how they are declared and sent, and the call that comes back as what is scored."""

from dataclasses import replace
from hashlib import sha256

import pytest

from tests.engine.running import SUFFIX, case, quick, value
from tests.engine.test_messages import PNG, PNG_URI, WITH_IMAGE, document, request_of
from tests.engine.test_spec import problems_of
from tests.harness.table import row, table
from workers.engine.calling.calls import prompt_tokens
from workers.engine.errors import Refused, ScorerFailed
from workers.engine.kinds import read_configuration
from workers.engine.messages.tool_calls import ToolCall, call_text, read_calls
from workers.engine.providers import anthropic as anthropic_protocol
from workers.engine.providers import ollama as ollama_protocol
from workers.engine.providers import openai as openai_protocol
from workers.engine.records import Request

CITY, DAYS = {"type": "string"}, {"type": "integer"}
UNIT = {"type": "string", "enum": ["celsius", "fahrenheit"]}
SCHEMA = {
    "type": "object",
    "properties": {"city": CITY, "days": DAYS, "unit": UNIT},
    "required": ["city", "days", "unit"],
}
WEATHER = {"name": "weather", "description": "The weather of a place.", "parameters": SCHEMA}
TIME = {"name": "time", "description": "What time it is somewhere."}
ASKED = "What is the weather in New York for 3 days, in fahrenheit?"
CALLED = '{"name":"weather","arguments":{"city":"New York","days":3,"unit":"fahrenheit"}}'  # sorted


def asking(**prompt):
    given = {"tools": [TIME, WEATHER], **prompt}
    return with_model(request_of(document({"user": "{{question}}", **given}), question=ASKED))


def showing(picture):
    return with_model(request_of(document({"messages": WITH_IMAGE}), picture=picture))


def with_model(request):
    return replace(request, model="sim-large", body={**request.body, "model": "sim-large"})


@table(*SUFFIX)
async def test_every_provider_gives_the_same_call_and_shows_images_to_the_model(connect, kind):
    reply = await connect(kind).send(asking())
    assert (reply.text, reply.flaw) == (CALLED, "")
    assert reply.tokens_in is not None
    assert reply.tokens_in > 60  # the tools are part of what is read
    shown = await connect(kind).send(showing(PNG_URI))
    digest = sha256(PNG).hexdigest()[:12]
    assert shown.text == f"I see 1 image(s): PNG, {len(PNG)} bytes, digest {digest}."


@table("openai", "anthropic")
async def test_a_tool_can_be_demanded_and_forbidden(connect, kind):
    for choice, called in (("required", "weather"), ("time", "time")):
        reply = await connect(kind).send(asking(tool_choice=choice))
        assert f'"name":"{called}"' in reply.text
    reply = await connect(kind).send(asking(tool_choice="none"))
    assert (reply.text[:1] != "{", reply.flaw) == (True, "")


async def test_an_address_goes_to_the_provider_as_it_is_or_is_refused(connect):
    """Ollama takes none, and nobody else fetches it."""
    request = showing("https://example.org/a.png")
    for kind in ("openai", "anthropic"):
        assert "an address with digest" in (await connect(kind).send(request)).text
    with pytest.raises(Refused, match="Ollama takes images as data"):
        await connect("ollama").send(request)


def test_anthropic_and_ollama_are_sent_tools_and_images_in_their_own_form():
    body = anthropic_protocol.body_of(asking(tool_choice="weather"))
    weather = {"name": "weather", "description": "The weather of a place.", "input_schema": SCHEMA}
    assert body["tools"][1] == weather
    assert body["tool_choice"] == {"type": "tool", "name": "weather"}
    demanded = asking(tool_choice="required")
    assert anthropic_protocol.body_of(demanded)["tool_choice"] == {"type": "any"}
    own = {"type": "web_search_20250305", "name": "web_search"}
    given = Request("main", "m", "/chat", {"model": "m", "messages": [], "tools": [own]})
    assert anthropic_protocol.body_of(given)["tools"] == [own]
    (message,) = anthropic_protocol.body_of(showing(PNG_URI))["messages"]
    data = PNG_URI.partition(",")[2]
    source = {"type": "base64", "media_type": "image/png", "data": data}
    text = {"type": "text", "text": "What is it?"}
    assert message["content"] == [text, {"type": "image", "source": source}]
    body = ollama_protocol.body_of(asking())
    assert body["tools"][0]["function"]["name"] == "time"
    assert body["options"] == {"temperature": 0}
    with pytest.raises(Refused, match="cannot be told to call a tool"):
        ollama_protocol.body_of(demanded)
    (message,) = ollama_protocol.body_of(showing(PNG_URI))["messages"]
    assert message == {"role": "user", "content": "What is it?", "images": [data]}


def choice(message, reason):
    return {"choices": [{"message": {"content": None, **message}, "finish_reason": reason}]}


def function(name, arguments):
    return {"function": {"name": name, "arguments": arguments}}


TWO = [function("a", "{}"), function("b", '{"y": 1, "x": "é"}')]

BOTH = '[{"name":"a","arguments":{}},{"name":"b","arguments":{"x":"é","y":1}}]'
CUT = {"tool_calls": [function("a", '{"x": ')]}
WORDS = {"content": "Let me look.", "tool_calls": [function("a", "")]}
OLDER = {"function_call": {"name": "a", "arguments": '{"x": 1}'}}


@table(
    row({"tool_calls": TWO}, "tool_calls", BOTH, "", id="two calls"),
    row(CUT, "length", '{"name":"a","arguments":"{\\"x\\": "}', "truncated", id="cut off"),
    row(WORDS, "tool_calls", '{"name":"a","arguments":{}}', "", id="with words"),
    row(OLDER, "function_call", '{"name":"a","arguments":{"x":1}}', "", id="the older form"),
    row({"content": "No need."}, "stop", "No need.", "", id="words alone"),
)
def test_what_is_made_of_a_call(message, reason, text, flaw):
    reply = openai_protocol.reply_of(choice(message, reason), None, {"tools": [{}]})
    assert (reply.text, reply.flaw) == (text, flaw)


def test_a_call_is_read_back_as_it_was_written_and_none_that_nobody_asked_for():
    calls = [ToolCall("a", {"x": [1, {"y": None}]}), ToolCall("b", {})]
    assert read_calls(call_text(calls)) == calls
    assert read_calls("[" * 1000 + "]" * 1000) is None
    # A call that nobody asked for is no answer.
    reply = openai_protocol.reply_of(choice({"tool_calls": TWO}, "tool_calls"), None, {})
    assert (reply.text, reply.flaw) == ("", "no_text")


def with_schema(schema):
    return {"tools": [{"name": "time", "parameters": schema}]}


ODD_TYPE = {"type": "object", "properties": {"x": {"type": 5}}}


@table(
    ({"tools": [{"name": "a b"}]}, "tools.0.name", "should match pattern"),
    ({"tools": [TIME, TIME]}, "tools", "Given twice: time"),
    (with_schema({"type": "string"}), "tools.0.parameters", "an object"),
    (with_schema(ODD_TYPE), "tools.0.parameters", "The schema is not accepted"),
    ({"tools": [TIME], "tool_choice": "look_up"}, "", "Choose one of: auto, required, none, time"),
    ({"tool_choice": "required"}, "", "declare them"),
)
def test_problems_of_tools_are_named(prompt, path, told):
    assert told in problems_of(document(prompt))[f"prompts.0.{path}".rstrip(".")]


def test_tools_are_part_of_the_guessed_tokens_and_of_the_candidate():
    plain, with_tools = (document({"user": "x", "tools": tools}) for tools in ([], [TIME]))
    keys = [read_configuration(one).make_candidates()[0].key for one in (plain, with_tools)]
    assert keys[0] != keys[1]
    assert "tools" not in request_of(plain).body
    assert prompt_tokens(request_of(with_tools)) > prompt_tokens(request_of(plain)) + 20


ROME = '{"name": "weather", "arguments": {"city": "Rome", "days": 3}}'
WITH_TRUE = '{"name": "weather", "arguments": {"days": true}}'
OSLO = '{"name": "weather", "arguments": {"city": "Oslo"}}'
SPEC = (
    '{"name": "weather", "arguments": {"type": "object", "required": ["city"],'
    ' "properties": {"city": {"pattern": "^R"}}}}'
)


@table(
    ({}, '{"arguments": {"days": 3.0, "city": "Rome"}, "name": "weather"}', ROME, True),
    ({}, '{"name": "weather", "arguments": {"city": "Oslo", "days": 3}}', ROME, False),
    ({}, '{"name": "weather", "arguments": {"city": "Rome"}}', ROME, False),
    ({}, '{"name": "time", "arguments": {"city": "Rome", "days": 3}}', ROME, False),
    ({}, WITH_TRUE, WITH_TRUE.replace("true", "1"), False),
    ({}, "It is sunny in Rome.", ROME, False),
    ({}, "", ROME, False),
    ({}, ROME, "weather", True),
    ({}, ROME, "time", False),
    ({"arguments": "any"}, '{"name": "weather", "arguments": {}}', ROME, True),
    ({"arguments": "schema"}, ROME, SPEC, True),
    ({"arguments": "schema"}, OSLO, SPEC, False),
    ({}, f'[{ROME}, {{"name": "time", "arguments": {{}}}}]', f'["time", {ROME}]', None),
    ({}, f'[{ROME}, {{"name": "time", "arguments": {{}}}}]', f'[{{"name": "time"}}, {ROME}]', True),
    ({}, "Nothing to call.", "[]", True),
    ({}, ROME, "[]", False),
    ({}, ROME, "It is sunny.", None),
)
def test_the_scorer_of_tool_calls(options, answer, expected, right):
    if right is None:
        with pytest.raises(ScorerFailed, match="which is no tool call"):
            quick("tool_call", options).judge(answer, case(expected))
        return
    assert value("tool_call", options, answer, case(expected)) == float(right)


def test_the_reason_says_what_differs_and_stays_short():
    answer = '{"name": "weather", "arguments": {"city": "' + "x" * 5000 + '"}}'
    judged = quick("tool_call", {}).judge(answer, case(ROME))
    assert "weather is called with" in judged.reason
    assert len(judged.reason) < 400
