"""Bars that we set for ourselves: limits, cache, retries, memory, evolutions and trainings, judged
by the ledger of a simulated provider. `make bars` measures them; what users measure is
`manage.py benchmark`, whose laboratory this borrows.
"""

import os

import django
from django.apps import apps

if not apps.ready:  # the modules import models
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    django.setup()
