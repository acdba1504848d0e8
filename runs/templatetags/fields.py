"""Fields of the new-run form: a label, what was typed, and what is wrong with it."""

from typing import Any

from django import template
from django.template import Context

register = template.Library()

# Sentences too long for a line of the page, by the field that they stand under.
HELP = {
    "id_yaml": "Everything a run can do, also what the form does not show, as a file could say it.",
    "id_parameters": "Any other parameter that the provider takes.",
    "id_own_parameters": "For these models they hold over those above. null leaves the model's own "
    "default.",
    "id_repeats": "How often each prompt is tried with each model on each case.",
    "id_seed": "A strategy draws by it: the same seed, the same choices.",
    "id_held_out": "A share as in 0.2, or a number: nobody is ranked by them, and the best is "
    "scored on them at the end.",
}


def messages_for(context: Context, field_id: str) -> list[str]:
    problems = context.get("problems") or ()
    return [problem.message for problem in problems if problem.field == field_id]


@register.inclusion_tag("parts/text_field.html", takes_context=True)
def text_field(
    context: Context,
    field_id: str,
    label: str,
    value: Any,
    *,
    help: str = "",
    rows: int = 0,
    placeholder: str = "",
    inputmode: str = "",
    maxlength: int = 0,
    offers: str = "",
) -> dict[str, Any]:
    """One line, or a box of `rows` lines. The name is the id without its `id_`; `offers` is the id
    of what a browser offers to fill in."""
    return {
        "id": field_id,
        "name": field_id.removeprefix("id_"),
        "label": label,
        "value": value,
        "help": help or HELP.get(field_id, ""),
        "rows": rows,
        "placeholder": placeholder,
        "inputmode": inputmode,
        "maxlength": maxlength,
        "offers": offers,
        "errors": messages_for(context, field_id),
    }


@register.inclusion_tag("parts/problems.html", takes_context=True)
def problems_of(context: Context, field_id: str) -> dict[str, Any]:
    """What is wrong with a group of choices."""
    return {"id": field_id, "errors": messages_for(context, field_id)}
