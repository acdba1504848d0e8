"""Where `run` runs: on the workers of a site that is up, or else in the process of the command."""

import os
from collections.abc import Mapping

from django.conf import settings

from evalsite.env import PROGRAM, redis_url_file, site_url_file
from runs.management.file_endpoints import unknown_to_site
from runs.management.refusals import bad_input
from runs.management.watching import is_site_there, refuse_without_site
from runs.models import Endpoint

NO_SITE_YET = (
    "No site works on the data folder {data}, so this run goes on in this process. "
    f"`{PROGRAM} serve` starts a site, which keeps runs and answers and shows them."
)
NOT_ON_SITE = (
    "The site has no endpoint {name} with the address that the file gives. To have its workers "
    f"call it: `{PROGRAM} save_endpoint "
    "{name} --kind {kind}{address}{key}`"
)


def why_here(endpoints: Mapping[str, Endpoint], *, detach: bool) -> str:
    """In words, if the run must go on in this process; empty: workers do it. CommandError if
    neither can be. `endpoints`: those of the file."""
    if detach:
        if unknown := unknown_to_site(endpoints):
            raise bad_input(not_on_site(unknown[0]))
        return ""
    if is_named():
        refuse_without_site()
    elif not is_up():
        return NO_SITE_YET.format(data=settings.EVALSITE_DATA)
    unknown = unknown_to_site(endpoints)
    return f"In this process: {not_on_site(unknown[0])}" if unknown else ""


def is_named() -> bool:
    """Whether somebody said where the site is: then it must be there."""
    return bool(os.environ.get("REDIS_URL") or os.environ.get("REDIS_URL_FILE"))


def is_up() -> bool:
    """Only a `serve` of this data folder counts, and not any Redis of the machine."""
    return redis_url_file(settings.EVALSITE_DATA).exists() and is_site_there()


def not_on_site(endpoint: Endpoint) -> str:
    address = f" --base-url {endpoint.base_url}" if endpoint.base_url else ""
    key = " --key-env VARIABLE" if endpoint.has_key else ""
    return NOT_ON_SITE.format(name=endpoint.name, kind=endpoint.kind, address=address, key=key)


def site_url() -> str:
    """Where a browser finds the site."""
    try:
        return site_url_file(settings.EVALSITE_DATA).read_text().strip()
    except OSError:
        return str(settings.ORIGINS[0])
