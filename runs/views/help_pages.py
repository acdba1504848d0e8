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
def help_guide(request: HttpRequest, name: str) -> HttpResponse:
    guides = read_guides()
    if name not in guides:
        raise Http404(f"There is no guide {name!r}. The page Help lists them.")
    others = [guide for guide in guides.values() if guide.name != name]
    context = {"section": "help", "guide": guides[name], "others": others}
    return render(request, "help/guide.html", context)
