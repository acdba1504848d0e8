"""What every page needs: the chosen theme, known before the first paint so that nothing flashes,
what is wrong with the installation, and what the person may do."""

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from runs.roles import permissions_of, role_of
from runs.selectors.health import recent_troubles

THEMES = ("system", "light", "dark")


def theme(request: HttpRequest) -> dict[str, object]:
    chosen = request.COOKIES.get("theme", "system")
    return {"theme": chosen if chosen in THEMES else "system", "themes": THEMES}


def health(request: HttpRequest) -> dict[str, object]:
    """Only asked for by pages that show it."""
    return {"troubles": SimpleLazyObject(recent_troubles)}


def permissions(request: HttpRequest) -> dict[str, object]:
    """`{% if may.launch %}` in every template: pages show nobody what would be refused."""
    user = getattr(request, "user", None)
    if user is None:
        return {}  # an error before anybody was recognised
    return {
        "may": SimpleLazyObject(lambda: {one.name.lower(): True for one in permissions_of(user)}),
        "role": SimpleLazyObject(lambda: role_of(user)),
    }
