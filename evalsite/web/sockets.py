"""One websocket: counts what comes before anything is queued, and closes with the code we mean."""

from __future__ import annotations

import time

from daphne.ws_protocol import WebSocketProtocol

FRAMES_PER_SECOND = 10  # a page acknowledges at most four frames a second
BURST = 20
POLICY_VIOLATION = 1008


class LimitedSocket(WebSocketProtocol):  # type: ignore[misc]  # daphne has no types
    def __init__(self) -> None:
        super().__init__()
        self.allowance, self.counted_at = float(BURST), time.monotonic()

    def onFrameBegin(self) -> None:  # noqa: N802 - Autobahn's name
        """Of every kind: a ping is answered, and the parts of one message are kept."""
        if not self.take_frame():
            self.serverClose(POLICY_VIOLATION)
        super().onFrameBegin()

    def onMessage(self, payload: bytes, isBinary: bool) -> None:  # noqa: N802, N803
        if self.state == self.STATE_OPEN:  # after a refusal, nothing is queued
            super().onMessage(payload, isBinary)

    def take_frame(self) -> bool:
        now = time.monotonic()
        earned = (now - self.counted_at) * FRAMES_PER_SECOND
        self.allowance, self.counted_at = min(BURST, self.allowance + earned) - 1, now
        return self.allowance >= 0

    def serverClose(self, code: int | None = None) -> None:  # noqa: N802 - Daphne's name
        # Not by sendClose: of the codes below 3000 it takes 1000 only, and 1008 is a server's.
        self.sendCloseFrame(code=1000 if code is None else code, isReply=False)
