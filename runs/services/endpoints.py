"""The only writer of endpoints. Keys are stored encrypted and shown on no page."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import partial

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from pydantic import ValidationError as PydanticError

from runs import secrets
from runs.models import AuditAction, Endpoint
from runs.outbound import check_endpoint, check_proxy, check_server, policy_for
from runs.roles import Permission, Person, check_permission
from runs.secrets import NOTHING_NEW, NewSecrets
from runs.services import private_addresses
from runs.services.audit import Subject, record
from runs.services.connection import ConnectionReport, ask_for_models, check_connection
from runs.services.endpoint_secrets import (
    CIPHERTEXTS,
    LONGEST_KEY,
    check_bundle,
    check_secrets,
    check_secrets_stay_at_home,
    put_secrets,
)
from runs.services.listed_prices import fill_prices
from workers.engine.calling.prices import read_prices
from workers.engine.errors import ForbiddenAddress, PrivateAddress
from workers.engine.providers import PROVIDERS, options_of
from workers.engine.providers.known import TO_COMPLETE

__all__ = [
    "LONGEST_KEY",
    "ChangedMeanwhileError",
    "ConnectionReport",
    "find_models",
    "rotate_endpoint_keys",
    "save_endpoint",
    "test_connection",
    "validate_endpoint",
]

LONGEST_MODEL_NAME = 200  # characters, as in a configuration
MOST_SERVERS = 50  # behind one endpoint
MOST_PRICES = 1000  # models with a price

Check = Callable[[Endpoint, NewSecrets], None]

FIELDS = [
    "name",
    "kind",
    "base_url",
    "model_names",
    "max_concurrent",
    "requests_per_minute",
    "tokens_per_minute",
    "adaptive",
    "more_urls",
    "options",
    "ca_bundle",
    "private_addresses",
    "prices",
    "listed_prices",
    "private_set_at",
    "private_set_by",
    "updated",
    "updated_by",
]
AUDITED = FIELDS[: FIELDS.index("listed_prices")]


class ChangedMeanwhileError(Exception):
    """Somebody saved the endpoint after this person opened it; nothing was stored."""


@transaction.atomic
def save_endpoint(
    user: Person,
    endpoint: Endpoint,
    new_key: str | None = None,
    opened: str = "",
    new_headers: Mapping[str, str] | None = None,
    new_proxy: str | None = None,
) -> Endpoint:
    """Store an endpoint. `new_key`: None keeps the key, "" removes it, a text replaces it; headers
    of its own and its proxy alike. `opened`: the `revision` that the person changed; empty to
    overwrite whatever is stored.

    ValidationError names the fields that are wrong; `new_key` is one of them.
    """
    check_permission(user, Permission.EDIT_ENDPOINTS)
    if opened and endpoint.pk:
        stored = Endpoint.objects.select_for_update().only("updated").get(pk=endpoint.pk)
        if stored.revision != opened:
            raise ChangedMeanwhileError
    new = NewSecrets(new_key, new_headers, new_proxy)
    _put_and_check(user, endpoint, new, CHECKS)
    before = Endpoint.objects.filter(pk=endpoint.pk).first() if endpoint.pk else None
    opened_places = private_addresses.settle(user, endpoint)
    fill_prices(endpoint, before)
    endpoint.updated_by_id = user.pk
    endpoint.save(update_fields=FIELDS + new.fields if endpoint.pk else None)
    _record_save(user, endpoint, before, new)
    private_addresses.tell(user, endpoint, opened_places)
    return endpoint


def _record_save(
    user: Person, endpoint: Endpoint, before: Endpoint | None, new: NewSecrets
) -> None:
    if before is None:
        record(AuditAction.ENDPOINT_ADDED, endpoint, endpoint.kind, actor=user)
    elif changed := _changed(before, endpoint, new):
        record(AuditAction.ENDPOINT_CHANGED, endpoint, ", ".join(changed), actor=user)
    if endpoint.has_key and new.key is not None:
        record(AuditAction.KEY_SET, endpoint, actor=user)
    elif before and before.has_key and not endpoint.has_key:
        record(AuditAction.KEY_REMOVED, endpoint, actor=user)


def _changed(before: Endpoint, endpoint: Endpoint, new: NewSecrets) -> list[str]:
    """The names of what is another now; of headers and a proxy nobody can compare the secrets."""
    given = {"headers": new.headers, "proxy": new.proxy}
    return [
        *(field for field in AUDITED if getattr(before, field) != getattr(endpoint, field)),
        *(name for name, value in given.items() if value is not None),
    ]


def test_connection(endpoint: Endpoint) -> ConnectionReport:
    """Ask the endpoint for its models. Changes nothing."""
    return check_connection(endpoint)


def find_models(
    user: Person, endpoint: Endpoint, new: NewSecrets = NOTHING_NEW
) -> ConnectionReport:
    """Ask the endpoint for its models as it was typed, saved or not. Changes nothing; a stored key
    goes to no new host, and a private address needs who may allow it, as for saving."""
    check_permission(user, Permission.EDIT_ENDPOINTS)
    _put_and_check(user, endpoint, new, ADDRESS_CHECKS)
    private_addresses.settle(user, endpoint)
    return ask_for_models(endpoint)


def validate_endpoint(endpoint: Endpoint, new: NewSecrets) -> None:
    """Everything wrong with an endpoint as it would be saved, by field. It stays as it is."""
    _put_and_check(None, copy(endpoint), new, CHECKS)


def _put_and_check(
    user: Person | None, endpoint: Endpoint, new: NewSecrets, checks: Sequence[Check]
) -> None:
    """Its proxy is one of the addresses that are judged, so secrets are put onto the object first;
    nothing is stored yet."""
    with suppress(ValidationError):  # the checks tell
        put_secrets(user, endpoint, new)
    _check_all(endpoint, new, checks)


def _check_all(endpoint: Endpoint, new: NewSecrets, checks: Sequence[Check]) -> None:
    errors: dict[str, list[ValidationError]] = {}
    for check in checks:
        try:
            check(endpoint, new)
        except ValidationError as error:
            for field, found in error.error_dict.items():
                errors.setdefault(field, []).extend(found)
    if errors:
        raise ValidationError(errors)


def rotate_endpoint_keys(*, forget_old: bool = False) -> int:
    """Encrypt every endpoint's key under a new one; tell how many there were."""
    secrets.rotate()
    with transaction.atomic():
        with_any = ~Q(key_ciphertext="") | ~Q(headers_ciphertext="") | ~Q(proxy_ciphertext="")
        endpoints = list(Endpoint.objects.select_for_update().filter(with_any))
        for endpoint in endpoints:
            for name in CIPHERTEXTS:
                if token := getattr(endpoint, name):
                    setattr(endpoint, name, secrets.reencrypt(token))
        Endpoint.objects.bulk_update(endpoints, CIPHERTEXTS)
        told = f"{len(endpoints)} keys" + (", old ones forgotten" if forget_old else "")
        record(AuditAction.KEYS_ROTATED, Subject("keys"), told)
    if forget_old:  # only now: had the transaction failed, the old ones would still be needed
        secrets.forget_old_keys()
    return len(endpoints)


def _check_fields(endpoint: Endpoint, new: NewSecrets) -> None:
    # Django's URL check refuses hosts without a dot; ours is stricter where it matters.
    endpoint.full_clean(exclude=["base_url"])


def _check_models(endpoint: Endpoint, new: NewSecrets) -> None:
    names = endpoint.model_names
    if not isinstance(names, list) or not all(
        isinstance(name, str) and 0 < len(name) <= LONGEST_MODEL_NAME for name in names
    ):
        raise ValidationError(
            {"model_names": 'Give a list of model names, as in ["sim-small", "sim-large"].'}
        )


def _check_options(endpoint: Endpoint, new: NewSecrets) -> None:
    """As the endpoint's kind takes them; a kind that nobody knows is refused elsewhere."""
    if endpoint.kind not in PROVIDERS:
        return
    options = options_of(endpoint.kind)
    try:
        options.model_validate(endpoint.options)
    except PydanticError as error:
        known = ", ".join(options.model_fields) or "none"
        told = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}." for one in error.errors()]
        raise ValidationError(
            {"options": f"{' '.join(told)} Options of this kind: {known}."}
        ) from None


def _check_address(endpoint: Endpoint, new: NewSecrets) -> None:
    longest = Endpoint._meta.get_field("base_url").max_length
    if longest and len(endpoint.base_url) > longest:
        raise ValidationError({"base_url": f"A base URL has at most {longest} characters."})
    if TO_COMPLETE in endpoint.base_url:
        raise ValidationError({"base_url": f"Enter your own name instead of {TO_COMPLETE}."})
    _check_place(endpoint, "base_url", partial(check_endpoint, endpoint))


def _check_place(endpoint: Endpoint, field: str, check: Callable[[], str], named: str = "") -> None:
    """A place that was allowed and is no longer ticked is being revoked: that must be possible."""
    try:
        check()
    except PrivateAddress as error:
        if error.place not in private_addresses.stored_places(endpoint):
            raise ValidationError({field: private_addresses.as_problem(error)}) from None
    except ForbiddenAddress as error:
        raise ValidationError({field: f"{named}{error}"}) from None


def _check_own_proxy(endpoint: Endpoint, new: NewSecrets) -> None:
    def check() -> str:
        check_proxy(endpoint)
        return ""

    _check_place(endpoint, "new_proxy", check)


def _check_more_servers(endpoint: Endpoint, new: NewSecrets) -> None:
    """The same rules as for the base URL, for each of them."""
    urls = endpoint.more_urls
    if not isinstance(urls, list) or not all(isinstance(url, str) and url for url in urls):
        raise ValidationError({"more_urls": "Give a list of URLs like the base URL."})
    if len(urls) > MOST_SERVERS:
        raise ValidationError({"more_urls": f"At most {MOST_SERVERS} further servers."})
    longest = Endpoint._meta.get_field("base_url").max_length or 0
    for url in urls:
        if len(url) > longest:
            raise ValidationError({"more_urls": f"A URL has at most {longest} characters."})
        check = partial(check_server, url, policy_for(endpoint))
        _check_place(endpoint, "more_urls", check, named=f"{url[:80]}: ")


def _check_prices(endpoint: Endpoint, new: NewSecrets) -> None:
    try:
        models = read_prices(endpoint.prices)
    except ValueError as error:
        raise ValidationError({"prices": str(error)}) from None
    if len(models) > MOST_PRICES or not all(0 < len(m) <= LONGEST_MODEL_NAME for m in models):
        raise ValidationError(
            {
                "prices": f"Give at most {MOST_PRICES:,} prices, each for a model name of "
                f"1 to {LONGEST_MODEL_NAME} characters."
            }
        )


def _check_new(endpoint: Endpoint, new: NewSecrets) -> None:
    check_secrets(new)


ADDRESS_CHECKS = (
    _check_new,
    _check_options,
    _check_address,
    _check_more_servers,
    _check_own_proxy,
    check_bundle,
    check_secrets_stay_at_home,
)
CHECKS = (_check_fields, _check_models, _check_prices, *ADDRESS_CHECKS)
