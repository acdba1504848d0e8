"""A filled-in form of a new run, and what its page would make of it, without laying it out."""

import re
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

from django.contrib.auth.models import User
from django.http import QueryDict
from django.utils.http import urlencode

from runs.forms.new_run import NewRunInput, read_post
from runs.forms.problems import FieldProblem, place
from runs.services.runs import create_run
from runs.views.new_run_form import draw_document
from workers.engine.errors import ConfigurationError

# What a browser sends for a small run.
FILLED = {
    "key": "key-1",
    "mode": "form",
    "name": "small",
    "dataset_source": "stored",
    "dataset": "sums",
    "prompts": ["0", "4"],
    "prompt-0-name": "plain",
    "prompt-0-user": "{{question}}",
    "prompt-4-name": "terse",
    "prompt-4-system": "Number only.",
    "prompt-4-user": "{{question}}",
    "models": ["simulated/sim-small"],
    "other_models": "simulated/sim-large\n",
    "scorers": ["numeric"],
    "scorer-numeric-tolerance": "0.5",
    "repeats": "2",
    "seed": "7",
    "preset": "custom",
    "max_concurrent": "8",
    "batch_size": "4",
    "requests_per_minute": "",
    "timeout_seconds": "2.5",
    "attempts": "3",
    "cache": "refresh",
}


def posted(form: Mapping[str, Any]) -> QueryDict:
    return QueryDict(urlencode(form, doseq=True))


def read_form(form: Mapping[str, Any]) -> NewRunInput:
    return read_post(posted(form))


def problems_of(person: User, form: Mapping[str, Any]) -> list[FieldProblem]:
    """What the page would say, and at which fields; nothing if it would launch a run."""
    filled = read_form(form)
    document, problems = draw_document(filled)
    if not problems:
        try:
            create_run(person, document)
        except ConfigurationError as error:
            problems = error.problems
    return place(problems, filled)


class Form(HTMLParser):
    """Reads a page as a browser does."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sent: dict[str, list[str]] = {}
        self._name = ""
        self.feed(re.sub(r"<template.*?</template>", "", page, flags=re.DOTALL))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("select", "textarea"):
            self._name = given.get("name", "")
        is_sent = given.get("type") not in ("radio", "checkbox") or "checked" in given
        if tag == "input" and is_sent:
            self.sent.setdefault(given.get("name", ""), []).append(given.get("value", ""))
        if tag == "option" and "selected" in given:
            self.sent.setdefault(self._name, []).append(given["value"])

    def handle_endtag(self, tag: str) -> None:
        if tag in ("select", "textarea"):
            self._name = ""

    def handle_data(self, data: str) -> None:
        if self.lasttag == "textarea" and self._name:
            self.sent[self._name] = [data.removeprefix("\n")]


def sent_by(page: str) -> dict[str, list[str]]:
    """The fields of a page as a browser would send them."""
    return Form(page).sent


def small_form(**changes: Any) -> dict[str, Any]:
    """One prompt on the sums that the fixture `dataset` makes."""
    return {
        "name": "sent",
        "mode": "form",
        "dataset_source": "stored",
        "dataset": "sums",
        "prompts": ["0"],
        "prompt-0-name": "plain",
        "prompt-0-user": "{{question}}",
        "models": ["simulated/sim-small"],
        "scorers": ["exact"],
        "preset": "balanced",
        **changes,
    }
