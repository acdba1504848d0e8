"""Finds ports, and says in plain words that one is taken, before anything is started."""

from __future__ import annotations

import errno
import random
import socket

# Below those that Linux, macOS and Windows give to connections: between our choice and the start of
# the server seconds pass, in which any program here may open hundreds.
OURS = range(20_000, 32_000)
TRIES = 50


class PortTaken(Exception):
    """Somebody else listens there; the message names the option that changes it."""


def claim_port(host: str, port: int, option: str) -> int:
    """The port, if it is free at this moment; for 0, one that is."""
    try:
        return _bound(host, port) if port else free_port(host)
    except OSError as error:
        raise PortTaken(_explain(host, port, option, error)) from error


def free_port(host: str = "127.0.0.1") -> int:
    """One that nobody takes before we do."""
    for port in random.sample(OURS, TRIES):
        try:
            return _bound(host, port)
        except OSError:
            pass  # somebody has it; if it is the address that is wrong, the last try says so
    return _bound(host, 0)


def _bound(host: str, port: int) -> int:
    """The port, which could be listened on a moment ago."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the servers themselves do
        probe.bind((host, port))
        free: int = probe.getsockname()[1]
        return free


def claim_usual_port(host: str, usual: int) -> int:
    """The usual one, or a free one if another program, perhaps another `serve`, has it."""
    try:
        return claim_port(host, usual, "")
    except PortTaken:
        return claim_port(host, 0, "")


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
