"""`python -m evalsite.web`: takes the options of Daphne."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
django.setup()

from evalsite.web.server import CommandLine  # noqa: E402 - it needs the apps loaded

CommandLine.entrypoint()
