"""API tokens: the list, a new one (shown once), and taking one back."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import get_token_for, tokens_for
from runs.forms.tokens import TokenForm
from runs.permissions import requires
from runs.roles import Permission, permissions_of
from runs.selectors.tokens import list_tokens
from runs.services.people.tokens import NewToken, create_token, revoke_token
from runs.views.people import person
from workers.engine.errors import ConfigurationError


@requires(Permission.SEE)
@never_cache
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    permissions = permissions_of(request.user)
    form = TokenForm(request.POST or None, permissions=permissions)
    made = None
    if request.method == "POST" and form.is_valid():
        made = try_to_make(request, form)
    context = {
        "section": "tokens",
        "form": form if made is None else TokenForm(permissions=permissions),
        "made": made,
        "tokens": list_tokens(tokens_for(request.user)),
    }
    return render(request, "tokens/list.html", context, status=400 if form.errors else 200)


def try_to_make(request: HttpRequest, form: TokenForm) -> NewToken | None:
    """The token, or None with the reasons on the form's fields."""
    given = form.cleaned_data
    try:
        return create_token(person(request), given["name"], given["scopes"], given["days"])
    except ConfigurationError as error:
        form.add_problems(error.problems)
        return None


@requires(Permission.SEE)
@require_POST
def token_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_token_for(request.user, pk)
    if revoke_token(token):
        messages.success(request, f"{token.name} is revoked: requests with it are refused now.")
    return redirect("tokens")
