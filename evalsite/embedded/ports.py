"""Says in plain words that a port is taken, before anything is started."""

from __future__ import annotations

import errno
import socket


class PortTaken(Exception):
    """Somebody else listens there; the message names the option that changes it."""


def claim_port(host: str, port: int, option: str) -> int:
    """The port, if it is free at this moment; for 0, one that is."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the servers themselves do
        try:
            probe.bind((host, port))
        except OSError as error:
            raise PortTaken(_explain(host, port, option, error)) from error
        free: int = probe.getsockname()[1]
        return free


def _explain(host: str, port: int, option: str, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is taken by another program. Stop that one (it may be another"
            f" `serve`), or choose another port: {option} {port + 1}"
        )
    return (
        f"Port {port} on {host} cannot be used ({error.strerror}). Choose another port with"
        f" {option}, or another address with --host."
    )
