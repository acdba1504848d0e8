"""An HTTP client for one thing: short exchanges of JSON, hundreds at once, at little CPU.

A library for everything took a third of all that a worker computes. What is difficult is left to
libraries here, too: reading answers to llhttp (httptools), URLs to yarl, dual-stack connections to
aiohappyeyeballs, TLS to Python. No redirects, no proxies, no cookies, no compression, no pipelines.
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

__all__ = [
    "MAX_ANSWER_BYTES",
    "Address",
    "Answer",
    "BadCertificate",
    "BrokenOff",
    "Client",
    "ClosedWithoutAnswer",
    "NotHttp",
    "NotHttps",
    "Resolver",
    "UnknownHost",
    "Unreachable",
    "look_up",
]
