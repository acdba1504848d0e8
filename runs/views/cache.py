"""The cache: what it saved, what is in it, one answer, and removing some."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from runs.access import cached_replies_for, get_cached_reply_for
from runs.forms.cache import PruneForm, read_cache_filters
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.cache_page import (
    MOST_SEARCHED,
    Pruning,
    count_matching,
    group_by_model,
    list_entries,
    read_figures,
    shown_text,
)
from runs.services.cache import MOST_AT_ONCE, prune_cache


@requires(Permission.SEE)
@require_safe
def cache(request: HttpRequest) -> HttpResponse:
    filters = read_cache_filters(request.GET)
    groups = group_by_model()
    context = {
        "section": "cache",
        "figures": read_figures(),
        "groups": groups,
        "filters": filters,
        "page": list_entries(
            cached_replies_for(request.user), filters, request.GET.get("start", "")
        ),
        "most_searched": MOST_SEARCHED,
        "form": PruneForm(groups=groups),
    }
    return render(request, "cache/page.html", context)


@requires(Permission.SEE)
@require_safe
def cache_entry(request: HttpRequest, key: str) -> HttpResponse:
    entry = get_cached_reply_for(request.user, key)
    context = {"section": "cache", "entry": entry, "text": shown_text(entry)}
    return render(request, "cache/entry.html", context)


@requires(Permission.CLEAR_CACHE)
@require_http_methods(["GET", "HEAD", "POST"])
def cache_prune(request: HttpRequest) -> HttpResponse:
    """Asked by a link it counts; only a confirmed form removes."""
    is_confirmed = request.method == "POST"
    data = request.POST if is_confirmed else (request.GET or None)
    form = PruneForm(data, groups=group_by_model())
    if not form.is_valid():
        context = {"section": "cache", "form": form}
        return render(request, "cache/prune.html", context, status=400 if form.errors else 200)
    if is_confirmed:
        return prune(request, form.selection())
    selection = form.selection()
    context = {
        "section": "cache",
        "form": form,
        "selection": selection,
        "number": count_matching(selection),
        "most": MOST_AT_ONCE,
    }
    return render(request, "cache/prune.html", context)


def prune(request: HttpRequest, selection: Pruning) -> HttpResponse:
    removed = prune_cache(selection, most=MOST_AT_ONCE)
    left = count_matching(selection)
    more = f" {left:,} more fit: remove again, or use manage.py prune_cache." if left else ""
    messages.success(request, f"{removed:,} cached answers were removed.{more}")
    return redirect("cache")
