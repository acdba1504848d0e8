"""An HTTP client for one thing: short exchanges of JSON, hundreds at once, at little CPU.

A library for everything took a third of all that a worker computes. What is difficult is left to
libraries here, too: reading answers to llhttp (httptools), URLs to yarl, dual-stack connections to
aiohappyeyeballs, proxies to python-socks, TLS to Python. No redirects, no cookies, no compression,
no pipelines.
"""

from workers.engine.http.client import Client
from workers.engine.http.connection import MAX_ANSWER_BYTES, Answer
from workers.engine.http.errors import (
    BadCertificate,
    BrokenOff,
    ClosedWithoutAnswer,
    NotHttp,
    NotHttps,
    UnknownHost,
    Unreachable,
)
from workers.engine.http.resolving import Address, Resolver, look_up
from workers.engine.http.way import DIRECTLY, Proxy, Way, is_left_out, proxy_addresses, read_proxy

__all__ = [
    "DIRECTLY",
    "MAX_ANSWER_BYTES",
    "Address",
    "Answer",
    "BadCertificate",
    "BrokenOff",
    "Client",
    "ClosedWithoutAnswer",
    "NotHttp",
    "NotHttps",
    "Proxy",
    "Resolver",
    "UnknownHost",
    "Unreachable",
    "Way",
    "is_left_out",
    "look_up",
    "proxy_addresses",
    "read_proxy",
]
