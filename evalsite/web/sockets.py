"""One websocket: counts what comes before anything is queued, and closes with the code we mean."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from daphne.ws_protocol import WebSocketProtocol

FRAMES_PER_SECOND = 10  # a page acknowledges at most four frames a second
BURST = 20
POLICY_VIOLATION = 1008


class Allowance:
    """So many frames a second, and a few more after a silence."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._left, self._counted_at = float(BURST), clock()

    def take(self) -> bool:
        now = self._clock()
        earned = (now - self._counted_at) * FRAMES_PER_SECOND
        self._left, self._counted_at = min(BURST, self._left + earned) - 1, now
        return self._left >= 0


class LimitedSocket(WebSocketProtocol):  # type: ignore[misc]  # daphne has no types
    def __init__(self) -> None:
        super().__init__()
        self.frames = Allowance(time.monotonic)
        self.close_reason = ""

    def onFrameBegin(self) -> None:  # noqa: N802 - Autobahn's name
        """Of every kind: a ping is answered, and the parts of one message are kept."""
        if not self.frames.take():
            self.serverClose(POLICY_VIOLATION)
        super().onFrameBegin()

    def onMessage(self, payload: bytes, isBinary: bool) -> None:  # noqa: N802, N803
        if self.state == self.STATE_OPEN:  # after a refusal, nothing is queued
            super().onMessage(payload, isBinary)

    def handle_reply(self, message: dict[str, Any]) -> None:
        self.close_reason = message.get("reason") or ""  # of a close; Daphne leaves it out
        super().handle_reply(message)

    def serverClose(self, code: int | None = None) -> None:  # noqa: N802 - Daphne's name
        # Not by sendClose: of the codes below 3000 it takes 1000 only, and 1008 is a server's.
        self.sendCloseFrame(1000 if code is None else code, self.close_reason.encode())
