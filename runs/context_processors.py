"""What every page needs: the chosen theme, known before the first paint so that nothing flashes,
and what is wrong with the installation."""

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from runs.selectors.health import recent_troubles

THEMES = ("system", "light", "dark")


def theme(request: HttpRequest) -> dict[str, object]:
    chosen = request.COOKIES.get("theme", "system")
    return {"theme": chosen if chosen in THEMES else "system", "themes": THEMES}


def health(request: HttpRequest) -> dict[str, object]:
    """Only asked for by pages that show it."""
    return {"troubles": SimpleLazyObject(recent_troubles)}
