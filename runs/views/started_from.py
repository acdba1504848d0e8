"""The stored configuration that a new-run form was filled in from, if any: its address says it."""

from typing import Any

from django.http import HttpRequest

from runs.access import can_change_configuration, stored_configurations_for
from runs.forms.filters import read_whole_number
from runs.models import Configuration
from runs.selectors.configurations import describes_same
from runs.services.runs import Source


def started_configuration(request: HttpRequest) -> Configuration | None:
    number = read_whole_number(request.GET.get("configuration"))
    visible = stored_configurations_for(request.user)
    return visible.filter(pk=number).first() if number else None


def name_to_save(request: HttpRequest) -> str:
    """What was typed, else the name whose next version the form would become."""
    if "save_name" in request.POST:
        return request.POST["save_name"]
    found = started_configuration(request)
    return found.name if found and can_change_configuration(request.user, found) else ""


def source_of(request: HttpRequest, key: str, document: dict[str, Any]) -> Source:
    """A run of the configuration only if nothing was changed in the form."""
    found = started_configuration(request)
    is_same = found is not None and describes_same(document, found)
    return Source(key, configuration=found if is_same else None)
