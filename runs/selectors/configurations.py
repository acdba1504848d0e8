"""Stored configurations by name."""

from runs.models import Configuration


def find_configuration(name: str) -> Configuration | None:
    return Configuration.objects.filter(name=name).first()


def configuration_names() -> list[str]:
    return list(Configuration.objects.order_by("name").values_list("name", flat=True))
