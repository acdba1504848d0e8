"""The Django app that stores configurations, runs and scores, and shows them."""

from django.apps import AppConfig
from django.conf import settings

from evalsite.env import EnvironmentProblem
from workers.engine.plugins import PluginError, install_plugins


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
