"""Comparing runs and candidates of runs: what to compare, the figures, answers side by side."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from runs.access import get_run_for, runs_for
from runs.formatting import counted
from runs.forms.compared import (
    LAST,
    MOST_COMPARED,
    Compared,
    ComparedError,
    find_compared,
    read_compared,
    read_others,
)
from runs.forms.filters import LARGEST_ID, read_choice, read_text, read_whole_number
from runs.models import Run
from runs.permissions import requires
from runs.rates import when_too_often
from runs.roles import Permission
from runs.selectors.comparing.answers import read_answers
from runs.selectors.comparing.page import cases_shown, compare_page
from runs.selectors.comparing.rows import ALL, FILTERS, MOST_REPEATS
from runs.selectors.runs.run_list import pickable_runs
from runs.services.datasets.collecting import collect_cases
from runs.services.datasets.storing import DatasetError
from runs.views.people import person
from workers.engine.errors import EngineError

TRIAL = re.compile(r"([0-9]{1,18})-([0-9]{1,10})\Z")


@requires(Permission.SEE)
@when_too_often(also_reading=True)
@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """With `run` for each ticked row of a list; else with `base` and `with`, as links keep it."""
    base, others = request.GET.get("base", ""), request.GET.get("with", "")
    try:
        if "run" in request.GET:
            return compare_ticked(request, [read_compared(t) for t in request.GET.getlist("run")])
        if not base or not others:
            return pick(request, read_others(base or others) if base or others else [])
        sides = find_compared(request.user, base, read_others(others)).sides()
    except EngineError as error:
        is_first = base == LAST and isinstance(error, ComparedError)
        return pick(request, readable(others), str(error), status=200 if is_first else 400)
    page = compare_page(
        sides,
        read_choice(request.GET.get("show"), FILTERS) or ALL,
        read_whole_number(request.GET.get("page")) or 1,
        read_whole_number(request.GET.get("against")) or 1,
    )
    context = {
        "section": "compare",
        "page": page,
        "filters": {name: (FILTERS[name], count) for name, count in page.cases.counts.items()},
        "address": address_of([side.label for side in sides]),
    }
    return render(request, "compare/page.html", context)


def compare_ticked(request: HttpRequest, ticked: Sequence[Compared]) -> HttpResponse:
    """The oldest of some runs is the base; of candidates it is the first, which leads its board."""
    chosen = list(dict.fromkeys(ticked))
    if all(one.candidate is None for one in chosen):
        chosen.sort()
    if len(chosen) < 2:
        return pick(request, chosen)
    if len(chosen) > MOST_COMPARED:
        problem = f"Choose 2 to {MOST_COMPARED} to compare; these are {len(chosen)}."
        return pick(request, chosen, problem, status=400)
    return redirect(address_of(list(map(str, chosen))))


def address_of(labels: Sequence[str]) -> str:
    query = urlencode({"base": labels[0], "with": ",".join(labels[1:])}, safe=":,")
    return f"{reverse('compare')}?{query}"


def readable(others: str) -> list[Compared]:
    """What can be kept of an address that cannot be shown."""
    try:
        return read_others(others)
    except ComparedError:
        return []


def pick(
    request: HttpRequest, chosen: Sequence[Compared], problem: str = "", status: int = 200
) -> HttpResponse:
    """Runs to tick. Those on the dataset of the first chosen one stand first."""
    first = get_run_for(request.user, chosen[0].run) if chosen else None
    context: dict[str, Any] = {
        "section": "compare",
        "rows": pickable_runs(runs_for(request.user), first),
        "runs_chosen": {one.run for one in chosen if one.candidate is None},
        "candidates_chosen": [str(one) for one in chosen if one.candidate is not None],
        "first": first,
        "problem": problem,
        "most": MOST_COMPARED,
    }
    return render(request, "compare/pick.html", context, status=status)


@requires(Permission.SEE)
@require_safe
def compare_trials(request: HttpRequest) -> HttpResponse:
    """The answers behind a row: `of` for each side, its trials as in `of=118-17,118-18`."""
    sides = request.GET.getlist("of")[:MOST_COMPARED]
    known: dict[int, Run] = {}
    trials = [read_trials(request, side, known) for side in sides]
    answers = read_answers(trials)
    if answers is None:
        raise Http404("None of these trials has a result.")
    template = "compare/_answers.html" if "X-Part" in request.headers else "compare/answers.html"
    return render(request, template, {"section": "compare", "answers": answers})


def read_trials(request: HttpRequest, side: str, known: dict[int, Run]) -> list[tuple[Run, int]]:
    found = []
    for text in side.split(",")[:MOST_REPEATS] if side else []:
        written = TRIAL.match(text)
        if written is None or int(written[1]) > LARGEST_ID:
            raise Http404(f"{text[:40]!r} is no trial.")
        number = int(written[1])
        if number not in known:
            known[number] = get_run_for(request.user, number)
        found.append((known[number], int(written[2])))
    return found


@requires(Permission.IMPORT)
@when_too_often()
@require_POST
def compare_collect(request: HttpRequest) -> HttpResponse:
    """The cases that a filter shows, as a dataset. The comparison is in the address, as on its
    page."""
    base, others = request.GET.get("base", ""), request.GET.get("with", "")
    show = read_choice(request.GET.get("show"), FILTERS) or ALL
    name = read_text(request.POST.get("name"))
    try:
        chosen = find_compared(request.user, base, read_others(others))
    except EngineError as error:
        return pick(request, readable(others), str(error), status=400)
    back = f"{address_of(list(map(str, chosen.compared)))}&{urlencode({'show': show})}#cases"
    if not name:
        messages.error(request, "Enter a name for the dataset.")
        return redirect(back)
    origin = f"comparison of runs {', '.join(map(str, chosen.compared))}"
    try:
        cases = cases_shown(chosen.sides(), show)
        saved = collect_cases(person(request), name, cases, origin=origin)
    except DatasetError as error:
        messages.error(request, " ".join(problem.message for problem in error.problems))
        return redirect(back)
    messages.success(request, f"{saved} has {counted(saved.rows, 'row')} now.")
    return redirect(saved)
