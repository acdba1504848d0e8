"""Erasing a dataset or a person with everything that came of them: what that is stands on the page,
with numbers, before the name is typed."""

from collections.abc import Callable
from typing import NamedTuple

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from runs.access import get_dataset_to_erase_for, get_person_for
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.erasures import (
    Erasure,
    dataset_erasure,
    in_words,
    obstacle_to_erasing_dataset,
    obstacle_to_erasing_person,
    person_erasure,
)
from runs.services.removing.archiving import InUseError
from runs.services.removing.erasing import erase_dataset, erase_person
from runs.views.people import person


class Page(NamedTuple):
    """What is erased: `typed` confirms it, `notes` are what the numbers do not say."""

    section: str
    back: str
    typed: str
    found: Erasure
    obstacle: str
    notes: list[str]
    act: Callable[[], Erasure]


@requires(Permission.IMPORT)
@require_http_methods(["GET", "POST"])
def dataset_erase(request: HttpRequest, pk: int) -> HttpResponse:
    dataset = get_dataset_to_erase_for(request.user, pk)
    user = person(request)
    page = Page(
        section="datasets",
        back=dataset.get_absolute_url(),
        typed=dataset.name,
        found=dataset_erasure(dataset),
        obstacle=obstacle_to_erasing_dataset(user, dataset),
        notes=[
            "Cached answers go with the run that paid for them. Those whose run was removed before "
            "stay: remove them on the page Cache.",
            "A stored configuration holds no rows. One that names this dataset says that it is "
            "missing.",
            "Backups and files that were downloaded keep what they have.",
        ],
        act=lambda: erase_dataset(user, dataset),
    )
    return erase_or_show(request, page)


@requires(Permission.MANAGE_PEOPLE)
@require_http_methods(["GET", "POST"])
def person_erase(request: HttpRequest, pk: int) -> HttpResponse:
    account, heir = get_person_for(request.user, pk), person(request)
    page = Page(
        section="people",
        back=reverse("people"),
        typed=account.get_username(),
        found=person_erasure(account),
        obstacle=obstacle_to_erasing_person(account, heir),
        notes=[
            "What others see of it is handed over to you: shared runs and datasets, the datasets "
            "that such runs are on, shared configurations, presets and benchmarks.",
            "The history of runs that stay keeps the name of the account, as do backups and logs.",
        ],
        act=lambda: erase_person(account, heir),
    )
    return erase_or_show(request, page)


def erase_or_show(request: HttpRequest, page: Page) -> HttpResponse:
    problem = ""
    if request.method == "POST":
        problem = page.obstacle or refusal_of(request, page.typed)
        if not problem:
            try:
                page.act()
            except InUseError as error:  # since the page was opened
                problem = str(error)
            else:
                messages.success(request, f"Erased {page.typed} and everything that came of it.")
                return redirect(page.section)
    context = {
        **page._asdict(),
        "problem": problem or page.obstacle,
        "erased": in_words(page.found.erased),
        "handed_over": in_words(page.found.handed_over),
        "kept": in_words(page.found.kept),
    }
    return render(request, "parts/erase.html", context, status=400 if problem else 200)


def refusal_of(request: HttpRequest, name: str) -> str:
    if request.POST.get("typed", "").strip() == name.strip():
        return ""
    return f"Type {name} to erase it. Nothing was erased."
