"""Endpoints that a configuration file brings along, for a run of this process. They are stored
nowhere, and their keys come from the environment: a file names a variable, never a key."""

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError as FieldErrors
from pydantic import Field, ValidationError, field_validator

from runs.models import Endpoint, EndpointKind
from runs.outbound import places_of
from runs.secrets import NewSecrets, encrypt
from runs.selectors.named_parts import find_endpoint
from runs.services.endpoints import validate_endpoint
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.kinds import read_configuration
from workers.engine.providers.known import (
    KNOWN_PROVIDERS,
    TO_COMPLETE,
    KnownProvider,
    known_provider_at,
)
from workers.engine.spec.model_choice import Strict
from workers.engine.spec.problems import explain

SECTION = "endpoints"
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
KEY_WORDS = ("key", "api_key", "new_key", "token", "secret")
NO_KEYS = (
    "A key does not belong into a file. Put it into an environment variable, and name that one: "
    "key_env: OPENAI_API_KEY."
)
NO_VARIABLE = (
    "There is no environment variable {variable}, or it is empty. Set it, or name another one with "
    'key_env; key_env: "" calls without a key.'
)
SIMULATED = KnownProvider("Simulated", EndpointKind.SIMULATED, "", needs_key=False)
UNKNOWN = KnownProvider("", "", "")
EXAMPLE = "Write names with their settings, as in endpoints: {openai: {key_env: OPENAI_API_KEY}}."


class FileEndpoint(Strict):
    """An endpoint as a file writes it. Of a provider that is known by the endpoint's name, as
    openai, everything may be left out."""

    kind: str = ""
    base_url: str = Field("", max_length=300)
    key_env: str | None = None
    max_concurrent: int = 20
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    adaptive: bool = True
    more_urls: list[str] = []
    prices: dict[str, Any] = {}

    @field_validator("key_env")
    @classmethod
    def check_variable(cls, name: str | None) -> str | None:
        """Without repeating it: it may be the key itself."""
        if name and not VARIABLE.fullmatch(name):
            raise ValueError(
                "Name an environment variable, in capitals, as in OPENAI_API_KEY. " + NO_KEYS
            )
        return name


class FileEndpoints(NamedTuple):
    """By name. A key that is missing matters only to whoever calls: a site has keys of its own."""

    endpoints: dict[str, Endpoint]
    missing_keys: list[Problem]

    def with_keys(self) -> dict[str, Endpoint]:
        if self.missing_keys:
            raise ConfigurationError(self.missing_keys)
        return self.endpoints


def take_endpoints(
    document: dict[str, Any], environ: Mapping[str, str] = os.environ
) -> FileEndpoints:
    """The document is without them afterwards, and so is all that is made of it. Providers that
    are known by their names need not be written. ConfigurationError says what is wrong with one."""
    written = document.pop(SECTION, None)
    found = FileEndpoints({}, [])
    if written is not None and not isinstance(written, dict):
        raise ConfigurationError([Problem(SECTION, EXAMPLE)])
    written = written or {}
    for name, given in {**written, **unwritten(document, written)}.items():
        read = read_settings(name, given)
        endpoint = build_endpoint(name, read)
        variable = key_variable(endpoint, read)
        key = environ.get(variable, "").strip() if variable else ""
        check_endpoint(endpoint, key)
        endpoint.key_ciphertext = encrypt(key) if key else ""
        found.endpoints[name] = endpoint
        if variable and not key:
            told = NO_VARIABLE.format(variable=variable)
            found.missing_keys.append(Problem(f"{SECTION}.{name}", told))
    return found


def unwritten(document: dict[str, Any], written: Mapping[str, Any]) -> dict[str, None]:
    """Those that models are called at by the name of a provider, as openai/gpt-4o-mini, and that
    neither the file nor the site has."""
    try:
        used = {model.endpoint for model in read_configuration(document).every_model}
    except ConfigurationError:
        return {}  # whoever reads it next says what is wrong with it
    others = sorted(used - written.keys())
    return {name: None for name in others if is_complete(name) and find_endpoint(name) is None}


def is_complete(name: str) -> bool:
    """Whether its name says all that has to be entered."""
    known = provider_named(name)
    has_address = bool(known.base_url) and TO_COMPLETE not in known.base_url
    return known is SIMULATED or has_address


def read_settings(name: str, given: Any) -> FileEndpoint:
    path = f"{SECTION}.{name}"
    settings = {} if given is None else given
    if not isinstance(settings, dict):
        raise ConfigurationError([Problem(path, EXAMPLE)])
    if keys := [word for word in KEY_WORDS if word in settings]:
        raise ConfigurationError([Problem(f"{path}.{keys[0]}", NO_KEYS)])
    try:
        return FileEndpoint.model_validate(settings)
    except ValidationError as error:
        found = explain(error, FileEndpoint)
        raise ConfigurationError([Problem(f"{path}.{p.path}", p.message) for p in found]) from None


def build_endpoint(name: str, read: FileEndpoint) -> Endpoint:
    by_name = provider_named(name)
    endpoint = Endpoint(
        name=name,
        kind=read.kind or provider_at(read.base_url).kind or by_name.kind,
        base_url=read.base_url or (by_name.base_url if read.kind in ("", by_name.kind) else ""),
        **read.model_dump(exclude={"kind", "base_url", "key_env"}),
    )
    if endpoint.kind not in EndpointKind.values:
        told = f"Give the kind, one of: {', '.join(EndpointKind.values)}."
        raise ConfigurationError([Problem(f"{SECTION}.{name}.kind", told)])
    # The calls are made by the person's own process, which may call what the person may.
    endpoint.private_addresses = places_of(endpoint.urls)
    return endpoint


def provider_named(name: str) -> KnownProvider:
    return SIMULATED if name == EndpointKind.SIMULATED else KNOWN_PROVIDERS.get(name, UNKNOWN)


def provider_at(base_url: str) -> KnownProvider:
    """Whose address it is. A key is sent to no other host unless a file names the variable."""
    return known_provider_at(base_url) or UNKNOWN


def key_variable(endpoint: Endpoint, read: FileEndpoint) -> str:
    """The one that the file names, or that of the provider who has the address; empty: no key."""
    return provider_at(endpoint.base_url).key_env if read.key_env is None else read.key_env


def check_endpoint(endpoint: Endpoint, key: str) -> None:
    """By the rules of those that are stored."""
    if stored := find_endpoint(endpoint.name):
        # So that it is not taken for a second one of the name. Nobody saves it.
        endpoint.pk, endpoint._state.adding = stored.pk, False
    try:
        validate_endpoint(endpoint, NewSecrets(key))
    except FieldErrors as error:
        raise ConfigurationError(
            [
                Problem(f"{SECTION}.{endpoint.name}.{field_name(field)}", " ".join(told))
                for field, told in error.message_dict.items()
            ]
        ) from None


def field_name(field: str) -> str:
    return "key_env" if field == "new_key" else field


def unknown_to_site(endpoints: Mapping[str, Endpoint]) -> list[Endpoint]:
    """Those that the site does not have under the same name with the same address."""
    return [
        endpoint
        for name, endpoint in endpoints.items()
        if (stored := find_endpoint(name)) is None
        or (stored.kind, stored.urls) != (endpoint.kind, endpoint.urls)
    ]
