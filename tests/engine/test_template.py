"""Prompts are filled in one pass, and nothing in them is ever run."""

import pytest

from tests.harness.table import row, table
from workers.engine.spec.template import MAX_BYTES, TemplateError, names_in, render

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
    assert str(error.value) == (
        "The prompt asks for {{answer}}, {{hint}}, which the case does not have. "
        "Its fields are: expected, question."
    )
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
