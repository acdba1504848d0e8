"""What every page needs: the chosen theme and time zone, known before the first paint so that
nothing flashes, what is wrong with the installation, and what the person may do."""

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from runs.models import Profile, Theme
from runs.roles import permissions_of, role_of
from runs.selectors.health import recent_troubles
from runs.selectors.profiles import profile_of


def theme(request: HttpRequest) -> dict[str, object]:
    """What was chosen in this browser and is on its way to the profile, else what the profile says;
    of people who are not signed in, what this browser remembers."""
    user = getattr(request, "user", None)  # none: an error before anybody was recognised
    profile = profile_of(user) if user is not None else Profile()
    kept = request.COOKIES
    chosen = kept.get("theme_unsaved") or profile.theme or kept.get("theme", "")
    return {
        "theme": chosen if chosen in Theme else Theme.SYSTEM.value,
        "time_zone": profile.time_zone,
    }


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
