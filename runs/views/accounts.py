"""Sign in, sign out, the first account, and the theme."""

from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.session_age import start_session
from runs import formatting
from runs.forms.accounts import SetupForm, SignInForm, add_reasons
from runs.models import AuditAction, Theme
from runs.permissions import requires
from runs.roles import Permission
from runs.services.audit import record
from runs.services.people import accounts, devices
from runs.services.people.profiles import change_profile
from runs.services.people.sign_in import check_credentials
from runs.services.people.throttle import TooManyTries
from runs.views.people import person

THEME_SECONDS = 365 * 24 * 3600


def safe_next(request: HttpRequest, fallback: str) -> str:
    """Where to go next, if it is a page of this site."""
    address = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = url_has_allowed_host_and_scheme(
        address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return address if is_ours else fallback


@requires(Permission.PUBLIC)
@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return redirect(safe_next(request, "/"))
    form = SignInForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = try_to_sign_in(request, form)
        if user is not None:
            return let_in(request, user, safe_next(request, "/"))
    return sign_in_page(request, form, status=200 if not form.errors else 400)


def sign_in_page(request: HttpRequest, form: SignInForm, status: int) -> HttpResponse:
    context = {
        "form": form,
        "next": safe_next(request, ""),
        "needs_setup": accounts.needs_setup(),
        "provider": settings.SIGN_IN_PROVIDER,
    }
    return render(request, "accounts/sign_in.html", context, status=status)


def try_to_sign_in(request: HttpRequest, form: SignInForm) -> User | None:
    """Says the same thing whether the name or the password was wrong."""
    username, password = form.cleaned_data["username"], form.cleaned_data["password"]
    try:
        user = check_credentials(request, device_of(request), username, password)
    except TooManyTries as refused:
        form.add_error(None, wait_for(refused))
        return None
    if user is None:
        form.add_error(None, "This name and password do not belong together. Try again.")
    return user


def wait_for(refused: TooManyTries) -> str:
    return f"Too many tries. Wait {formatting.duration(refused.seconds)}, then try again."


def let_in(request: HttpRequest, user: User, address: str) -> HttpResponse:
    """A session with a new key, in a browser that the account knows from now on."""
    login(request, user)
    start_session(request.session)
    response = redirect(address)
    remember_device(request, response, user)
    return response


def device_of(request: HttpRequest) -> devices.Device:
    return devices.read_device(request.COOKIES.get(settings.DEVICE_COOKIE_NAME, ""))


def remember_device(request: HttpRequest, response: HttpResponse, user: User) -> None:
    response.set_cookie(
        settings.DEVICE_COOKIE_NAME,
        devices.remember(device_of(request), user),
        max_age=devices.LIFE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


@requires(Permission.SIGNED_IN)
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    record(AuditAction.SIGN_OUT, actor=request.user)
    logout(request)
    return redirect("sign_in")


@requires(Permission.PUBLIC)
@never_cache
@sensitive_post_parameters("password", "password_again")
@require_http_methods(["GET", "POST"])
def setup(request: HttpRequest, token: str) -> HttpResponse:
    if not accounts.check_setup_token(token):
        raise Http404("This set-up link is not valid any more.")
    form = SetupForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = create_admin(form, token)
        if user is not None:
            return let_in(request, user, reverse("runs"))
    return render(
        request, "accounts/setup.html", {"form": form}, status=200 if not form.errors else 400
    )


def create_admin(form: SetupForm, token: str) -> User | None:
    """The account, or None with the reasons on the form's fields."""
    username, password = form.cleaned_data["username"], form.cleaned_data["password"]
    try:
        return accounts.create_admin(token, username, password)
    except accounts.SetupClosedError as error:
        form.add_error(None, str(error))
    except ValidationError as error:
        add_reasons(form, error)
    return None


@requires(Permission.SIGNED_IN)
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """The switch of every page. Scripts send it, too, and stay where they are."""
    response = redirect(safe_next(request, "/"))
    chosen = request.POST.get("theme", "")
    if chosen in Theme:
        change_profile(person(request), theme=chosen)
        remember_theme(response, chosen)
    return response


def remember_theme(response: HttpResponse, theme: str) -> None:
    """For the sign-in page of this browser, which does not know yet who comes."""
    secure = settings.SESSION_COOKIE_SECURE
    response.set_cookie("theme", theme, THEME_SECONDS, samesite="Lax", secure=secure)
    response.delete_cookie("theme_unsaved")  # static/js/shell.js: the profile has it now
