"""What every page needs: the chosen theme, known before the first paint so that nothing flashes."""

from django.http import HttpRequest

THEMES = ("system", "light", "dark")


def theme(request: HttpRequest) -> dict[str, object]:
    chosen = request.COOKIES.get("theme", "system")
    return {"theme": chosen if chosen in THEMES else "system", "themes": THEMES}
