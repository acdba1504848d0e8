"""What a person is told who shares something of theirs, or stops it."""

from django.contrib import messages
from django.http import HttpRequest


def tell_sharing(request: HttpRequest, *, is_shared: bool) -> None:
    if is_shared:
        messages.success(request, "Shared: everybody on this site may see it.")
    else:
        messages.success(request, "No longer shared: only its owner and operators see it.")
