"""The Django app that stores configurations, runs and scores, and shows them."""

from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "runs"
    verbose_name = "Evaluations"
    default_auto_field = "django.db.models.BigAutoField"
