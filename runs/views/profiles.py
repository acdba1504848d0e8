"""Your profile: how you see the site, on all your devices."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from runs.forms.accounts import ProfileForm
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.profiles import UTC, is_connected, profile_of
from runs.services.people.profiles import change_profile
from runs.views.accounts import remember_theme
from runs.views.people import person


@requires(Permission.SIGNED_IN)
@require_http_methods(["GET", "POST"])
def profile(request: HttpRequest) -> HttpResponse:
    stored = profile_of(person(request))
    now = {"theme": stored.theme or "system", "time_zone": stored.time_zone or UTC}
    form = ProfileForm(request.POST or None, initial=now)
    if request.method == "POST" and form.is_valid():
        change_profile(person(request), **form.cleaned_data)
        messages.success(request, "Your profile is saved. It holds on all your devices.")
        response = redirect("profile")
        remember_theme(response, form.cleaned_data["theme"])
        return response
    context = {
        "section": "profile",
        "form": form,
        "provider": settings.SIGN_IN_PROVIDER,
        "is_connected": is_connected(person(request)) if settings.SIGN_IN_PROVIDER else False,
    }
    return render(request, "accounts/profile.html", context, status=400 if form.errors else 200)
