"""A way from one worker to one service, which can be shut while everybody else's stays open."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path

BLOCK_BYTES = 64 * 1024
Address = tuple[str, int] | str  # a port, or a socket in a folder


class Gate:
    """Shut, it cuts all connections and takes no new ones, as a network that refuses them."""

    def __init__(self, target: Address, folder: Path | None = None) -> None:
        self._target = target
        self._kind = socket.AF_UNIX if isinstance(target, str) else socket.AF_INET
        self._is_open = True
        self._ends: set[socket.socket] = set()
        self._listener = socket.socket(self._kind)
        if isinstance(target, str):
            assert folder is not None
            self._listener.bind(str(folder / Path(target).name))
        else:
            self._listener.bind(("127.0.0.1", 0))
        self.address: Address = self._listener.getsockname()
        self._listener.listen(64)
        threading.Thread(target=self._accept, name="gate", daemon=True).start()

    def shut(self) -> None:
        self._is_open = False
        for end in list(self._ends):
            self._cut(end)

    def open(self) -> None:
        self._is_open = True

    def close(self) -> None:
        self.shut()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                near, _ = self._listener.accept()
                if not self._is_open:
                    near.close()
                    continue
                far = socket.socket(self._kind)
                far.connect(self._target)
                self._ends |= {near, far}
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):  # cut
            while block := source.recv(BLOCK_BYTES):
                sink.sendall(block)
        self._cut(source)
        self._cut(sink)

    def _cut(self, end: socket.socket) -> None:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)  # wakes who waits on it
        end.close()
        self._ends.discard(end)
