"""What the runs of a configuration are held to: set on its page, or by choosing a run there."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from runs.access import get_run_for, open_configuration_for
from runs.forms.filters import read_whole_number
from runs.forms.gate import GateForm
from runs.models import Configuration, Run
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.gates import BASELINE
from runs.services.gating import set_gate
from runs.views.configurations import show_configuration
from runs.views.people import person
from workers.engine.errors import ConfigurationError, Problem

NO_RUN = "There is no such run that you may see. Give the number of a complete run, as in 118."


@requires(Permission.CONFIGURE)
@require_POST
def configuration_gate(request: HttpRequest, pk: int) -> HttpResponse:
    stored = open_configuration_for(request.user, pk, write=True)
    form = GateForm(request.POST)
    if form.is_valid():
        try:
            baseline = run_named(request, form.cleaned_data[BASELINE])
            set_gate(stored, person(request), baseline, form.gates)
        except ConfigurationError as error:
            form.take_problems(error.problems)
    if form.errors:
        stored.refresh_from_db()
        return show_configuration(request, stored, gate_form=form)
    messages.success(request, "Stored. Runs that are launched from now on are held to it.")
    return redirect(stored)


@requires(Permission.CONFIGURE)
@require_POST
def configuration_baseline(request: HttpRequest, pk: int) -> HttpResponse:
    """A button beside a run; the other gates stay."""
    stored = open_configuration_for(request.user, pk, write=True)
    try:
        baseline = run_named(request, read_whole_number(request.POST.get(BASELINE)))
        set_gate(stored, person(request), baseline, gates_beside(stored, baseline))
    except ConfigurationError as error:
        return show_configuration(request, stored, error.problems)
    if baseline:
        messages.success(request, f"Runs are now compared with run {baseline.pk}.")
    else:
        messages.success(request, "Runs are no longer compared with a baseline.")
    return redirect(stored)


def gates_beside(stored: Configuration, baseline: Run | None) -> dict[str, object]:
    """Without a baseline those go that compare with it."""
    gone = () if baseline else ("alpha", "max_regressions")
    return {name: value for name, value in stored.gates.items() if name not in gone}


def run_named(request: HttpRequest, number: int | None) -> Run | None:
    if not number:
        return None
    try:
        return get_run_for(request.user, number)
    except Http404:
        raise ConfigurationError([Problem(BASELINE, NO_RUN)]) from None
