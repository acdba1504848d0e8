"""Finds the stored parts that a configuration names."""

from runs.models import Dataset, Endpoint


def find_dataset(choice: str) -> Dataset | None:
    """The dataset called `name`, in its newest version, or exactly `name@3`."""
    name, at, version = choice.rpartition("@")
    if at and version.isdecimal():
        return Dataset.objects.filter(name=name, version=int(version)).first()
    return Dataset.objects.filter(name=choice).order_by("-version").first()


def find_endpoint(name: str) -> Endpoint | None:
    return Endpoint.objects.filter(name=name).first()
