"""The guides, where people are."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.guides import read_guides


@requires(Permission.SEE)
@require_safe
def help_index(request: HttpRequest) -> HttpResponse:
    context = {"section": "help", "guides": list(read_guides().values())}
    return render(request, "help/index.html", context)


@requires(Permission.SEE)
@require_safe
def help_guide(request: HttpRequest, guide: str) -> HttpResponse:
    guides = read_guides()
    if guide not in guides:
        raise Http404(f"There is no guide {guide!r}. The page Help lists them.")
    others = [one for one in guides.values() if one.name != guide]
    context = {"section": "help", "guide": guides[guide], "others": others}
    return render(request, "help/guide.html", context)
