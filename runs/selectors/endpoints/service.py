"""Whose answers an endpoint gives: what the cache and equal calls tell services apart by."""

from django.utils.crypto import salted_hmac
from yarl import URL

from runs.models import Endpoint
from runs.secrets import SecretsError, decrypt
from runs.selectors.endpoints.manner import headers_of
from workers.engine.json_text import to_json

SITES_OWN = "of this site"  # its port changes with every start, its answers do not


def service_of(endpoint: Endpoint) -> str:
    """As `service_with_key`, where only the name is needed. A key that cannot be read has none."""
    try:
        key = decrypt(endpoint.key_ciphertext) if endpoint.has_key else ""
        return service_with_key(endpoint, key)
    except SecretsError:
        return ""


def service_with_key(endpoint: Endpoint, key: str) -> str:
    """Kind, base URL, credential, options and headers of its own. Two deployments on one host are
    two services, and so are two accounts at one deployment. Further servers of an endpoint offer
    what its first one does."""
    service = f"{endpoint.kind} {address_of(endpoint)} {credential_id(key)}"
    # What has none keeps the name that its cached answers are stored under.
    if endpoint.options:
        service = f"{service} {to_json(endpoint.options).decode()}"
    if headers := headers_of(endpoint):
        service = f"{service} {credential_id(to_json(headers).decode())}"
    return service


def address_of(endpoint: Endpoint) -> str:
    """As the client reads it, so that another spelling of a host is not another service."""
    return str(URL(endpoint.base_url)).rstrip("/") if endpoint.base_url else SITES_OWN


def credential_id(key: str) -> str:
    """The same for the same key. Signed with the site's own, so that nobody who reads it can try
    out keys against it."""
    return salted_hmac("runs.credential", key, algorithm="sha256").hexdigest() if key else ""
