"""Where a small action leads: back to the list it was asked from, else to the run."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from runs.models import Run


def go_back(request: HttpRequest, run: Run | None = None) -> HttpResponse:
    """`next` in the form is only ever the runs list, with its filters: nobody is led elsewhere."""
    wanted = request.POST.get("next", "")
    if wanted.partition("?")[0] == reverse("runs"):
        return redirect(wanted)
    return redirect(run) if run is not None else redirect("runs")
