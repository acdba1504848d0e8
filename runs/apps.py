"""The Django app that stores configurations, runs and scores, and shows them."""

import logging

from django.apps import AppConfig
from django.conf import settings

from evalsite.env import EnvironmentProblem
from workers.engine.plugins import PluginError, install_plugins

logger = logging.getLogger(__name__)


class RunsConfig(AppConfig):
    name = "runs"
    verbose_name = "Evaluations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """In every process: who reads a configuration must know the same plug-ins."""
        from runs import checks  # noqa: F401 - registers them; its imports need the app to be ready

        try:
            install_plugins(settings.PLUGINS)
        except PluginError as error:
            raise EnvironmentProblem(str(error)) from error
        warn_of_unsafe_settings()


def warn_of_unsafe_settings() -> None:
    """At every start, so that nobody forgets what was opened for a test."""
    if settings.UNSAFE_WEBHOOK_ADDRESSES:
        logger.warning(
            "UNSAFE: EVALSITE_UNSAFE_WEBHOOK_ADDRESSES lets webhooks, which every runner may add, "
            "reach the private addresses %s. Unset it outside of tests.",
            ", ".join(settings.UNSAFE_WEBHOOK_ADDRESSES),
        )
    if settings.UNSAFE_PROXY_LOOKS_UP:
        logger.warning(
            "UNSAFE: EVALSITE_UNSAFE_PROXY_LOOKS_UP has proxies look up the names of endpoints, so "
            "that nobody here checks where they lead. Unset it where this machine knows the names."
        )
