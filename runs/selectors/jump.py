"""Where a person may want to go: pages, and the runs, datasets and endpoints they may see."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from django.db.models import Q, QuerySet
from django.urls import reverse

from runs.models import Dataset, Endpoint, Run
from runs.roles import Permission
from runs.selectors.datasets.pages import newest_versions
from runs.selectors.guides import find_help

MOST_EACH = 6
LARGEST_NUMBER = 2**63 - 1
PAGES = {
    "Runs": ("runs", Permission.SEE),
    "New run": ("run_new", Permission.LAUNCH),
    "Datasets": ("datasets", Permission.SEE),
    "Import a dataset": ("dataset_import", Permission.IMPORT),
    "Prompts": ("prompts", Permission.SEE),
    "New prompt": ("prompt_new", Permission.CONFIGURE),
    "Configurations": ("configurations", Permission.SEE),
    "Endpoints": ("endpoints", Permission.SEE),
    "Cache": ("cache", Permission.SEE),
    "Benchmark": ("benchmarks", Permission.SEE),
    "Help": ("help", Permission.SEE),
    "API": ("api_docs", Permission.SEE),
    "Configuration reference": ("configuration_docs", Permission.SEE),
    "Alerts": ("alerts", Permission.SEE),
    "API tokens": ("tokens", Permission.SEE),
    "Your profile": ("profile", Permission.SIGNED_IN),
    "Your password": ("password", Permission.SIGNED_IN),
    "Teams": ("teams", Permission.SEE),
    "People": ("people", Permission.MANAGE_PEOPLE),
    "System": ("system", Permission.MAINTAIN),
}


class Place(NamedTuple):
    kind: str
    name: str
    address: str
    detail: str = ""


def find_places(
    text: str, runs: QuerySet[Run], datasets: QuerySet[Dataset], endpoints: QuerySet[Endpoint]
) -> list[Place]:
    """The newest of each; all that there is of a few when nothing is typed."""
    return [
        *find_runs(text, runs),
        *(
            Place("Dataset", dataset.name, dataset.get_absolute_url(), f"version {dataset.version}")
            for dataset in newest_versions(datasets).filter(name__icontains=text)[:MOST_EACH]
        ),
        *(
            Place("Endpoint", endpoint.name, endpoint.get_absolute_url())
            for endpoint in endpoints.filter(name__icontains=text).order_by("name")[:MOST_EACH]
        ),
    ]


def find_pages(text: str, permissions: Collection[Permission]) -> Iterable[Place]:
    """Those that the person may open."""
    for name, (address, permission) in PAGES.items():
        if text.lower() in name.lower() and permission in permissions:
            yield Place("Page", name, reverse(address))


def find_guides(text: str) -> Iterable[Place]:
    """Of the help, and their sections; the guides alone when nothing is typed."""
    for found in find_help(text, MOST_EACH):
        yield Place("Help", found.name, found.address, found.detail)


def find_runs(text: str, runs: QuerySet[Run]) -> Iterable[Place]:
    """By a part of the name, or by number as in 118 or #118."""
    wanted = Q(name__icontains=text, archived=None)
    number = text.removeprefix("#")
    if number.isascii() and number.isdecimal() and int(number[:20]) <= LARGEST_NUMBER:
        wanted |= Q(pk=int(number[:20]))
    for run in runs.filter(wanted).order_by("-pk").only("pk", "name", "state")[:MOST_EACH]:
        yield Place(
            "Run", run.name, run.get_absolute_url(), f"#{run.pk}, {run.get_state_display()}"
        )
