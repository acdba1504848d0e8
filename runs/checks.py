"""What `manage.py check`, and every command that starts a part of the site, says of plug-ins."""

from typing import Any

from django.core.checks import CheckMessage, Error, Tags, Warning, register

from workers.engine.registries import plugin_problems


@register(Tags.compatibility)
def check_plugins(**_: Any) -> list[CheckMessage]:
    """Better at the start than as a page that fails."""
    return [
        Error(found.message, hint=found.hint, id="runs.E001")
        if found.stops
        else Warning(found.message, hint=found.hint, id="runs.W001")
        for found in plugin_problems()
    ]
