"""Only our own pages may open a websocket: scheme, host and port have to be exact."""

from __future__ import annotations

import pytest
from channels.testing import WebsocketCommunicator
from django.conf import settings

from tests.harness.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)


async def is_let_in(origin: str | None) -> bool:
    from evalsite.asgi import application

    headers = [] if origin is None else [(b"origin", origin.encode())]
    communicator = WebsocketCommunicator(application, "/ws/runs/1/", headers=headers)
    try:
        connected, _ = await communicator.connect(timeout=PATIENCE_SECONDS)
        return bool(connected)
    finally:
        await communicator.disconnect(timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize("origin", settings.ORIGINS)
async def test_our_own_pages_are_let_in(origin):
    assert await is_let_in(origin)


@pytest.mark.parametrize(
    "origin",
    [
        pytest.param(None, id="missing"),
        pytest.param("null", id="null"),
        pytest.param("http://127.0.0.1", id="no port"),
        pytest.param("http://127.0.0.1:8001", id="other port"),
        pytest.param("https://127.0.0.1:8000", id="other scheme"),
        pytest.param("http://elsewhere.example:8000", id="other host"),
        pytest.param("http://127.0.0.1.elsewhere.example:8000", id="host as a prefix"),
        pytest.param("127.0.0.1:8000", id="no scheme"),
    ],
)
async def test_everybody_else_is_refused(origin):
    assert not await is_let_in(origin)
