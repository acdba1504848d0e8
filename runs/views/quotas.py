"""What a person, or everybody of a role, may use: shown and set by administrators."""

from collections.abc import Callable, Mapping

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from runs.access import get_person_for
from runs.forms.quotas import QuotaForm
from runs.models import PersonQuota
from runs.permissions import requires
from runs.roles import Permission, Role, role_of
from runs.selectors.quotas import (
    Quota,
    quota_lines,
    quota_of,
    quota_of_role,
    site_quota,
    stored_for_person,
    stored_for_role,
    use_of,
)
from runs.services.people.quotas import set_person_quota, set_role_quota
from runs.views.people import person

Store = Callable[[Mapping[str, float | None]], object]


@requires(Permission.MANAGE_PEOPLE)
@require_http_methods(["GET", "POST"])
def person_quota(request: HttpRequest, pk: int) -> HttpResponse:
    who = get_person_for(request.user, pk)
    form = form_for(request, stored_for_person(who), quota_of_role(role_of(who)))
    name, admin = who.get_username(), person(request)
    if try_to_store(request, form, name, lambda v: set_person_quota(admin, who.pk, v)):
        return redirect("people")
    lines = quota_lines(quota_of(who), use_of(who))
    return show(request, form, name, "their role and the site", lines=lines)


@requires(Permission.MANAGE_PEOPLE)
@require_http_methods(["GET", "POST"])
def role_quota(request: HttpRequest, role: str) -> HttpResponse:
    if role not in list(Role):
        raise Http404(role)
    form = form_for(request, stored_for_role(Role(role)), site_quota())
    name, admin = f"every {role}", person(request)
    if try_to_store(request, form, name, lambda v: set_role_quota(admin, Role(role), v)):
        return redirect("people")
    return show(request, form, name, "the site", lines=[])


def form_for(request: HttpRequest, row: PersonQuota | None, otherwise: Quota) -> QuotaForm:
    initial = {name: getattr(row, name, None) for name in Quota._fields}
    return QuotaForm(request.POST or None, initial=initial, otherwise=otherwise)


def try_to_store(request: HttpRequest, form: QuotaForm, name: str, store: Store) -> bool:
    if request.method != "POST" or not form.is_valid():
        return False
    try:
        store(form.values)
    except ValidationError as error:
        for field, reasons in error.message_dict.items():
            form.add_error(field, reasons)
        return False
    messages.success(request, f"The quota of {name} is stored. It holds from now on.")
    return True


def show(
    request: HttpRequest, form: QuotaForm, name: str, said_by: str, *, lines: object
) -> HttpResponse:
    context = {"section": "people", "form": form, "name": name, "said_by": said_by, "lines": lines}
    return render(request, "people/quota.html", context, status=400 if form.errors else 200)
