"""The cache: what it saved, what is in it, one answer, and removing some."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs.access import cached_replies_for, get_cached_reply_for
from runs.formatting import counted
from runs.forms.cache import PruneForm, RestoreForm, read_cache_filters
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.cache_page import (
    MOST_SEARCHED,
    Pruning,
    count_matching,
    group_by_model,
    list_entries,
    list_removals,
    read_figures,
    shown_text,
)
from runs.services.cache import MOST_AT_ONCE, prune_cache, restore_answers


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
        "removals": list_removals(),
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
        context = {"section": "cache", "form": form, "trash_days": settings.TRASH_DAYS}
        return render(request, "cache/prune.html", context, status=400 if form.errors else 200)
    if is_confirmed:
        return prune(request, form.selection(), for_good=form.cleaned_data["for_good"])
    selection = form.selection()
    context = {
        "section": "cache",
        "form": form,
        "selection": selection,
        "number": count_matching(selection),
        "most": MOST_AT_ONCE,
        "trash_days": settings.TRASH_DAYS,
    }
    return render(request, "cache/prune.html", context)


def prune(request: HttpRequest, selection: Pruning, *, for_good: bool) -> HttpResponse:
    done = prune_cache(selection, most=MOST_AT_ONCE, for_good=for_good)
    left = count_matching(selection)
    more = f" {left:,} more fit: remove again, or use manage.py prune_cache." if left else ""
    undo = " They can be brought back below." if done.remove_after else ""
    messages.success(request, f"{counted(done.removed, 'cached answer')} removed.{undo}{more}")
    return redirect("cache")


@requires(Permission.CLEAR_CACHE)
@require_POST
def cache_restore(request: HttpRequest) -> HttpResponse:
    form = RestoreForm(request.POST)
    number = restore_answers(form.cleaned_data["remove_after"]) if form.is_valid() else 0
    if number:
        messages.success(request, f"{counted(number, 'cached answer')} brought back.")
    else:
        messages.error(request, "These answers are gone, or are back already.")
    return redirect("cache")
