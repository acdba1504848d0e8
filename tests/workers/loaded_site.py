"""The site, loaded in the process that workers are forked from: that is most of a worker's start.

What a worker's own environment says is read again in `begin_anew`, before it does anything. Nothing
here connects to anything.
"""

import importlib
import os

import django
from django.apps import apps
from django.conf import settings
from django.db import connections
from django.utils.functional import empty

from tests.harness.patience import PATIENCE_SECONDS
from workers import redis_flights
from workers.engine.http import client as http_client

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
for name in [name for name in os.environ if name.startswith("EVALSITE_")]:
    if name != "EVALSITE_DATA":
        del os.environ[name]  # of the test that happens to be the first
django.setup()
for name in ("runs.kinds", "workers.runtime"):
    importlib.import_module(name)
# Looks come sooner: tests wait for what they lead to, and not for the next one.
SECONDS = {
    "runs.management.commands.work": ("PATIENCE_SECONDS", 0.05),
    "workers.following": ("FOLLOW_SECONDS", 0.1),
    "workers.growing_chunks": ("TURN_SECONDS", 0.2),
}
for module, (name, seconds) in SECONDS.items():
    setattr(importlib.import_module(module), name, seconds)
# Redis is only slow, when six tests share two cores: calls that are made alone would count twice.
redis_flights.ANSWER_SECONDS = PATIENCE_SECONDS
# And so is the provider, which shares its process with the test.
http_client.CONNECT_SECONDS = PATIENCE_SECONDS


def begin_anew() -> None:
    """Settings by the environment of now, and the plug-ins that they name."""
    importlib.reload(importlib.import_module("evalsite.settings"))
    settings.__dict__.clear()
    settings._wrapped = empty
    vars(connections).pop("settings", None)
    connections._settings = None  # type: ignore[attr-defined]  # only its stubs leave it out
    apps.get_app_config("runs").ready()
