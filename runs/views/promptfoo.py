"""Imports a promptfoo file: first what would be made of it, then the configuration and dataset."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from runs.formatting import counted
from runs.forms.promptfoo import PromptfooForm
from runs.permissions import requires
from runs.rates import when_too_often
from runs.roles import Permission
from runs.services.promptfoo import import_promptfoo, look_at_promptfoo
from runs.views.people import person
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.promptfoo.reading import Promptfoo
from workers.engine.spec.documents import write_document


@requires(Permission.CONFIGURE)
@when_too_often()
@require_http_methods(["GET", "POST"])
def promptfoo_import(request: HttpRequest) -> HttpResponse:
    form = PromptfooForm(request.POST or None, request.FILES or None)
    if request.method != "POST" or not form.is_valid():
        return show(request, form)
    text, name = form.cleaned_data["text"], form.cleaned_data["name"]
    try:
        if request.POST.get("step") != "import":
            return show(request, form, found=look_at_promptfoo(person(request), text, name))
        stored = import_promptfoo(person(request), text, name)
    except ConfigurationError as error:
        return show(request, form, problems=error.problems)
    rows = counted(stored.dataset.rows, "row")
    messages.success(request, f"Imported {stored.configuration.name} on {stored.dataset} ({rows}).")
    if stored.notes:
        told = counted(len(stored.notes), "thing")
        messages.warning(request, f"{told} in the file had no equal here: see the list before.")
    return redirect(f"{reverse('run_new')}?configuration={stored.configuration.pk}")


def show(
    request: HttpRequest,
    form: PromptfooForm,
    *,
    found: Promptfoo | None = None,
    problems: list[Problem] | None = None,
) -> HttpResponse:
    if form.is_bound and "text" in form.cleaned_data:
        form.data = request.POST.copy()
        form.data["text"] = form.cleaned_data["text"]  # a file need not be chosen again
    context = {
        "section": "datasets",
        "form": form,
        "found": found,
        "document": write_document(found.document) if found else "",
        "problems": problems or [],
    }
    status = 400 if problems or form.errors else 200
    return render(request, "datasets/promptfoo.html", context, status=status)
