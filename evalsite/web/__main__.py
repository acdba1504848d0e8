"""`python -m evalsite.web`: takes the options of Daphne."""

import gc
import os

import django

from evalsite.__main__ import OBJECTS_BEFORE_GARBAGE

gc.set_threshold(OBJECTS_BEFORE_GARBAGE)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
django.setup()

from evalsite.web.server import CommandLine  # noqa: E402 - it needs the apps loaded

CommandLine.entrypoint()
