"""Prompts are filled in one pass, and nothing in them is ever run."""

from base64 import b64encode
from json import dumps
from typing import Any

import pytest

from tests.engine.running import evaluation
from tests.engine.test_spec import problems_of
from tests.harness.table import row, table
from workers.engine.calling.cache import cache_key
from workers.engine.calling.call_notes import prompt_of
from workers.engine.calling.calls import prompt_tokens
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.records import Case
from workers.engine.spec.births import check_births, names_filled
from workers.engine.spec.template import MAX_BYTES, TemplateError, names_in, render
from workers.engine.targets import TargetParts
from workers.engine.targets.chat import messages_of

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 40
PNG_URI = f"data:image/png;base64,{b64encode(PNG).decode()}"


def system(content):
    return {"role": "system", "content": content}


def user(content):
    return {"role": "user", "content": content}


def assistant(content):
    return {"role": "assistant", "content": content}


TERSE, QUESTION, USER = system("Number only."), user("{{question}}"), user("x")
FEW_SHOT = [TERSE, user("2 + 2?"), assistant("4"), QUESTION]
WITH_HISTORY = [TERSE, {"messages": "{{history}}"}, QUESTION]
WITH_IMAGE = [user([{"text": "What is it?"}, {"image": "{{picture}}"}])]


def document(*prompts):
    named = [{"name": f"p{number}", **one} for number, one in enumerate(prompts)]
    model = {"endpoint": "main", "model": "m", "parameters": {"temperature": 0}}
    return evaluation("exact", prompts=named, models=[model])


def pipeline(*steps):
    made = [{**step, "models": ["main/m"]} for step in steps]
    return {"kind": "select", "dataset": "sums", "steps": made, "scorers": ["exact"]}


def request_of(whole, **fields):
    configuration = read_configuration(whole)
    candidate = configuration.make_candidates()[0]
    request = configuration.target(TargetParts()).opening(candidate, Case(0, fields), 0)
    assert request is not None
    return request


def sent(messages: list[Any], **fields: Any) -> list[dict[str, Any]]:
    return list(request_of(document({"messages": messages}), **fields).body["messages"])


def test_keys_of_prompts_with_system_and_user_are_what_they_were():
    """Of candidates and of cached answers: both were stored by earlier versions."""
    terse = {"name": "terse", "system": "Be brief.", "user": "Say {{question}}"}
    whole = document(terse, {"name": "plain"})
    assert keys_of(whole) == ["d046af82e49f55d8", "8abce21d3c0eadb7"]
    assert cache_key("service", request_of(whole, question="2+2?")) == (
        "7c0c20448e82328602437498592a44c0ee71087498d30fa530dcdc273c287245"
    )
    select = pipeline({**terse, "name": "solver"})
    assert keys_of(select) == ["18e5de931dd519d9"]
    assert cache_key("service", request_of(select, question="2+2?")) == (
        "b44e498949eaac910932e5f28a4713d2912b21e8b6fa99c331df76da67d81623"
    )


def keys_of(whole):
    return [one.key for one in read_configuration(whole).make_candidates()]


def test_messages_are_filled_from_the_case_also_in_a_step_of_a_pipeline():
    assert sent(FEW_SHOT, question="3 + 4?") == [*FEW_SHOT[:3], user("3 + 4?")]
    plain = {"system": "Be brief.", "user": "{{question}}"}
    told = {"messages": [system("Be brief."), user([{"text": "{{question}}"}])]}
    one, other = (request_of(document(prompt), question="2?").body for prompt in (plain, told))
    assert one == other
    solver = {"name": "solver", "messages": [user("{{planner}}")]}
    select = pipeline({"name": "planner", "messages": FEW_SHOT}, solver)
    assert request_of(select, question="3?").body["messages"][-1]["content"] == "3?"
    candidate = read_configuration(select).make_candidates()[0]
    shown = messages_of(candidate, Case(0, {"question": "3?"}))
    assert [message["content"] for message in shown][-2:] == ["3?", "{{planner}}"]


TURN = [user("a {{question}}"), assistant("b")]


@table(
    row("", ["system", "user"], id="none"),
    row("[]", ["system", "user"], id="empty"),
    row(dumps(TURN), ["system", "user", "assistant", "user"], id="a turn"),
    row(dumps([TERSE, user([{"text": "y"}])]), ["system", "system", "user", "user"], id="a system"),
)
def test_a_conversation_is_put_in_its_place(history, roles):
    found = sent(WITH_HISTORY, question="3?", history=history)
    assert [message["role"] for message in found] == roles
    assert found[-1]["content"] == "3?"
    if "{{question}}" in history:
        assert found[1]["content"] == "a {{question}}"  # what a case holds is only data


@table(
    ("hello", "{{history}} should hold a JSON list of messages, but is no JSON"),
    (dumps({"role": "user"}), "should hold a JSON list"),
    (dumps([{**USER, "role": "tool"}]), 'message 1: the role is "tool". Allowed: system'),
    (dumps([{**USER, "role": ["user"]}]), 'the role is ["user"]'),
    (dumps([{"role": "user"}]), "message 1: a message has a role and a content"),
    (dumps([user(5)]), "the content is a text, or a list"),
    (dumps([user([{"audio": "x"}])]), "a part is"),
    (dumps([assistant("x")]), "Begin with the user's"),
    (dumps([USER, system("y")]), "Message 3 is a system message after others"),
    (dumps([USER] * 600), "more than 500 messages"),
    (dumps([USER, assistant([{"image": PNG_URI}])]), "message 2: only messages of the user may"),
)
def test_what_is_wrong_with_a_conversation_is_said(history, told):
    with pytest.raises(TemplateError) as caught:
        sent(WITH_HISTORY, question="3?", history=history)
    assert told in str(caught.value)


def test_many_large_columns_do_not_make_a_huge_prompt():
    with pytest.raises(TemplateError, match="4,000,000 characters together"):
        sent([QUESTION] * 100, question="x" * 50_000)


def made_of(*messages, **more):
    return {"messages": list(messages), **more}


@table(
    (made_of(), "messages", "This is empty"),
    (made_of(TERSE), "messages", "add a message with role user"),
    (made_of(USER, TERSE), "messages", "Message 2 is a system message after"),
    (made_of(assistant("4"), USER), "messages", "Begin with the user's"),
    (made_of(*FEW_SHOT[:3]), "messages", "end with the user's"),
    (made_of({**USER, "role": "tool"}), "messages.0.role", "'system', 'user' or"),
    (made_of({**USER, "name": "x"}), "messages.0.name", "Allowed here: role, content"),
    (made_of({"role": "user"}), "messages.0.content", "needed"),
    (made_of("hello"), "messages.0", "Input should be a valid dictionary"),
    (made_of(user("")), "messages.0.content.0.text", "This is empty"),
    (made_of(user([{"txt": "x"}])), "messages.0.content.0.text", "needed"),
    (made_of({"messages": "{{a}} {{b}}"}), "messages.0.messages", "Name one column"),
    (made_of(*FEW_SHOT, system="x"), "", "not both"),
    (made_of(*FEW_SHOT, user="x"), "", "not both"),
    (made_of(system([{"image": "{{a}}"}]), USER), "messages.0", "Only messages of the user"),
    ({"version": 2}, "", "name it as library"),
    ({"library": "x", "user": "y"}, "", "not both"),
)
def test_problems_of_messages_are_named(prompt, path, told):
    assert told in problems_of(document(prompt))[f"prompts.0.{path}".rstrip(".")]


def test_columns_of_messages_are_known_wherever_they_stand():
    configuration = read_configuration(document({"messages": [*WITH_HISTORY[:2], *WITH_IMAGE]}))
    assert names_filled(configuration) == {"history", "picture"}
    places = ["0.content", "1.messages", "2.content.0", "2.content.1"]
    paths = [template.path for template in configuration.templates()]
    assert paths == [f"prompts.0.messages.{place}" for place in places]
    with pytest.raises(ConfigurationError, match="picture"):
        check_births(configuration, configuration.make_candidates(), ["history"])


@table(PNG_URI, f" {PNG_URI}\n", "https://example.org/a.png", "HTTP://example.org/?q=1")
def test_an_image_is_sent_as_data_or_by_its_address(source):
    image = {"type": "image_url", "image_url": {"url": source.strip()}}
    text = {"type": "text", "text": "What is it?"}
    assert sent(WITH_IMAGE, picture=source) == [user([text, image])]


def test_an_image_is_guessed_as_a_thousand_tokens_and_shown_as_text():
    request = request_of(document({"messages": WITH_IMAGE}), picture=PNG_URI)
    assert prompt_tokens(request) == pytest.approx(1000 + len("What is it?") / 4)
    assert prompt_of(request) == [user(f"What is it?\n[image: PNG, {len(PNG)} bytes]")]


@table(
    ("file:///etc/passwd", "begins with http:// or https://"),
    ("javascript:alert(1)", "begins with http:// or https://"),
    ("ftp://example.org/a.png", "begins with http:// or https://"),
    ("https://example.org/a b.png", "begins with http:// or https://"),
    ("", "begins with http:// or https://"),
    ("data:image/svg+xml;base64,PHN2Zz4=", "PNG, JPEG, GIF or WebP"),
    ("data:text/html;base64,PHN2Zz4=", "PNG, JPEG, GIF or WebP"),
    ("data:image/png,abc", "PNG, JPEG, GIF or WebP"),
    ("data:image/png;base64,not base64!", "no base64"),
    (PNG_URI.replace("png", "jpeg"), "says image/jpeg, but by its first bytes it is PNG"),
    ("data:image/png;base64,PHN2Zz4=", "is none of PNG, JPEG, GIF and WebP"),
    (f"data:image/png;base64,{b64encode(PNG + b'0' * 256_000).decode()}", "larger than 256 KB"),
)
def test_what_is_no_image_is_not_sent(picture, told):
    with pytest.raises(TemplateError) as caught:
        sent(WITH_IMAGE, picture=picture)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 500


FIELDS = {"question": "What is 2 + 3?", "other": "secret", "a-b.c_1": "odd", "self": "{{self}}"}


@table(
    row("{{question}}", "What is 2 + 3?", id="alone"),
    row("Q: {{ question }}\nA:", "Q: What is 2 + 3?\nA:", id="spaces inside"),
    row("{{other}}{{other}}", "secretsecret", id="twice in a row"),
    row("{{a-b.c_1}}", "odd", id="every allowed character"),
    row("{{{other}}}", "{secret}", id="an extra pair of braces stays"),
    row("no fields", "no fields", id="nothing to fill"),
    row("", "", id="empty"),
)
def test_names_are_replaced(template, filled):
    assert render(template, FIELDS) == filled


@table(
    "{{7*7}}",
    "{{question|upper}}",
    "{{question.__class__()}}",
    "{{question[0]}}",
    "{{question!r}}",
    "{{question:>1000000000}}",
    "{x.__class__} {question} {0} {:>1000000000}",
    "{% for x in y %}{{7}}{% endfor %}",
    "{% include '/etc/passwd' %}{# comment #}",
    "${question} $question %(question)s <%= question %> #{question} `id`",
    "{{}} {{ }} {{1st}} {{-dash}}",
    "{{question",
    "question}}",
    "{{ques\ntion}} {{\nquestion\n}}",
    "{{quéstion}} {{question\x00}}",
    "\\{\\{question\\}\\}",
)
def test_anything_else_stays_as_it_was_written(payload):
    assert render(payload, FIELDS) == payload


@table("{{other}}", "{{self}}", "{other}", "{% now %}", "\\1", "\\g<1>", "\x00", "\ud800")
def test_a_value_is_never_filled_again(value):
    assert render("<{{self}}>{{other}}", {"self": value, "other": "x"}) == f"<{value}>x"


def test_names_are_listed_once_and_an_unknown_one_is_told_with_what_there_is():
    with pytest.raises(TemplateError) as error:
        render("{{answer}} {{question}} {{hint}}", {"question": "?", "expected": "5"})
    asks = "The prompt asks for {{answer}}, {{hint}}, which the case does not have."
    assert str(error.value) == f"{asks} Its fields are: expected, question."
    with pytest.raises(TemplateError, match="and 180 more"):
        render("{{missing}}", {f"column_{n}": "" for n in range(200)})
    with pytest.raises(TemplateError, match="Its fields are: none"):
        render("{{question}}", {})
    assert names_in("{{b}} {{ a }} {{b}} {{7*7}} {c}") == ["b", "a"]


@table(
    row("{{x}}", "a" * MAX_BYTES, id="one value"),
    row("{{x}}", "é" * (MAX_BYTES // 2), id="counted in bytes"),
    row("a" * MAX_BYTES, "", id="the template itself"),
)
def test_a_prompt_of_the_largest_size_is_filled_and_one_byte_more_is_refused(template, value):
    assert len(render(template, {"x": value}).encode()) == MAX_BYTES
    for larger in (f"{template}!", f"!{template}"):
        with pytest.raises(TemplateError, match="larger than 256 KB"):
            render(larger, {"x": value})
    with pytest.raises(TemplateError, match="larger than 256 KB"):
        render("{{x}}" * 50_000, {"x": "a" * 200_000})  # ten gigabytes if it were joined


@table("{" * 500_000, "{{" + " " * 500_000, "{{a" * 100_000, "{{" + "a" * 500_000)
def test_a_hostile_template_is_read_in_no_time(template):
    assert names_in(template) == []
