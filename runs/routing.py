"""Which consumer serves which websocket. Each declares the permission that it needs."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.urls import URLPattern, path

from runs.consumers import RunConsumer
from runs.roles import Permission


def socket(route: str, consumer: Any) -> URLPattern:
    if not isinstance(getattr(consumer, "permission", None), Permission):
        raise ImproperlyConfigured(f"{consumer.__name__} declares no permission. Give it one.")
    made: URLPattern = path(route, consumer.as_asgi())
    return made


websocket_urlpatterns = [
    socket("ws/runs/<int:run_id>/", RunConsumer),
]
