"""The only writer of endpoints. Keys are stored encrypted and shown on no page."""

from collections.abc import Callable, Sequence
from functools import partial
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.timezone import now
from pydantic import ValidationError as PydanticError

from runs import secrets
from runs.models import AuditAction, Endpoint
from runs.outbound import check_endpoint, check_server, policy_for
from runs.roles import Permission, Person, check_permission
from runs.services import private_addresses
from runs.services.audit import Subject, record
from runs.services.connection import ConnectionReport, ask_for_models, check_connection
from runs.services.listed_prices import fill_prices
from workers.engine.calling.prices import read_prices
from workers.engine.errors import ForbiddenAddress, PrivateAddress
from workers.engine.providers import PROVIDERS, options_of
from workers.engine.providers.known import TO_COMPLETE

__all__ = [
    "ChangedMeanwhileError",
    "ConnectionReport",
    "find_models",
    "rotate_endpoint_keys",
    "save_endpoint",
    "test_connection",
    "validate_endpoint",
]

LONGEST_KEY = 4096  # characters; tokens of some gateways are long, headers end at 8 KB
SHORTEST_HINTED_KEY = 16  # characters; of a shorter one, four letters would give away too much
LONGEST_MODEL_NAME = 200  # characters, as in a configuration
MOST_SERVERS = 50  # behind one endpoint
MOST_PRICES = 1000  # models with a price

Check = Callable[[Endpoint, str | None], None]

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
    "private_addresses",
    "prices",
    "listed_prices",
    "private_set_at",
    "private_set_by",
    "updated",
    "updated_by",
]
AUDITED = FIELDS[: FIELDS.index("listed_prices")]
KEY_FIELDS = ["key_ciphertext", "key_hint", "key_set_at", "key_set_by"]


class ChangedMeanwhileError(Exception):
    """Somebody saved the endpoint after this person opened it; nothing was stored."""


@transaction.atomic
def save_endpoint(
    user: Person, endpoint: Endpoint, new_key: str | None = None, opened: str = ""
) -> Endpoint:
    """Store an endpoint. `new_key`: None keeps the key, "" removes it, a text replaces it.
    `opened`: the `revision` that the person changed; empty to overwrite whatever is stored.

    ValidationError names the fields that are wrong; `new_key` is one of them.
    """
    check_permission(user, Permission.EDIT_ENDPOINTS)
    if opened and endpoint.pk:
        stored = Endpoint.objects.select_for_update().only("updated").get(pk=endpoint.pk)
        if stored.revision != opened:
            raise ChangedMeanwhileError
    validate_endpoint(endpoint, new_key)
    before = Endpoint.objects.filter(pk=endpoint.pk).first() if endpoint.pk else None
    opened_places = private_addresses.settle(user, endpoint)
    fill_prices(endpoint, before)
    if new_key is not None:
        _put_key(user, endpoint, new_key.strip())
    endpoint.updated_by_id = user.pk
    # A form that was open for an hour must not bring back the key that was replaced meanwhile.
    changed = FIELDS if new_key is None else FIELDS + KEY_FIELDS
    endpoint.save(update_fields=changed if endpoint.pk else None)
    _record_save(user, endpoint, before, new_key)
    private_addresses.tell(user, endpoint, opened_places)
    return endpoint


def _record_save(
    user: Person, endpoint: Endpoint, before: Endpoint | None, new_key: str | None
) -> None:
    if before is None:
        record(AuditAction.ENDPOINT_ADDED, endpoint, endpoint.kind, actor=user)
    elif changed := [f for f in AUDITED if getattr(before, f) != getattr(endpoint, f)]:
        record(AuditAction.ENDPOINT_CHANGED, endpoint, ", ".join(changed), actor=user)
    if endpoint.has_key and new_key is not None:
        record(AuditAction.KEY_SET, endpoint, actor=user)
    elif before and before.has_key and not endpoint.has_key:
        record(AuditAction.KEY_REMOVED, endpoint, actor=user)


def test_connection(endpoint: Endpoint) -> ConnectionReport:
    """Ask the endpoint for its models. Changes nothing."""
    return check_connection(endpoint)


def find_models(user: Person, endpoint: Endpoint, new_key: str | None = None) -> ConnectionReport:
    """Ask the endpoint for its models as it was typed, saved or not. Changes nothing; a stored key
    goes to no new host, and a private address needs who may allow it, as for saving."""
    check_permission(user, Permission.EDIT_ENDPOINTS)
    _check_all(endpoint, new_key, ADDRESS_CHECKS)
    private_addresses.settle(user, endpoint)
    return ask_for_models(endpoint, new_key)


def validate_endpoint(endpoint: Endpoint, new_key: str | None) -> None:
    """Everything wrong with an endpoint as it would be saved, by field."""
    _check_all(endpoint, new_key, CHECKS)


def _check_all(endpoint: Endpoint, new_key: str | None, checks: Sequence[Check]) -> None:
    errors: dict[str, list[ValidationError]] = {}
    for check in checks:
        try:
            check(endpoint, new_key)
        except ValidationError as error:
            for field, found in error.error_dict.items():
                errors.setdefault(field, []).extend(found)
    if errors:
        raise ValidationError(errors)


def rotate_endpoint_keys(*, forget_old: bool = False) -> int:
    """Encrypt every endpoint's key under a new one; tell how many there were."""
    secrets.rotate()
    with transaction.atomic():
        endpoints = list(Endpoint.objects.select_for_update().exclude(key_ciphertext=""))
        for endpoint in endpoints:
            endpoint.key_ciphertext = secrets.reencrypt(endpoint.key_ciphertext)
        Endpoint.objects.bulk_update(endpoints, ["key_ciphertext"])
        told = f"{len(endpoints)} keys" + (", old ones forgotten" if forget_old else "")
        record(AuditAction.KEYS_ROTATED, Subject("keys"), told)
    if forget_old:  # only now: had the transaction failed, the old ones would still be needed
        secrets.forget_old_keys()
    return len(endpoints)


def _check_fields(endpoint: Endpoint, new_key: str | None) -> None:
    # Django's URL check refuses hosts without a dot; ours is stricter where it matters.
    endpoint.full_clean(exclude=["base_url"])


def _check_new_key(endpoint: Endpoint, new_key: str | None) -> None:
    """Refuse what cannot be sent as a header, before it is stored."""
    key = (new_key or "").strip()
    if len(key) > LONGEST_KEY:
        raise ValidationError({"new_key": f"A key has at most {LONGEST_KEY} characters."})
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValidationError(
            {"new_key": "A key holds printable ASCII characters without spaces. Copy it again."}
        )


def _check_models(endpoint: Endpoint, new_key: str | None) -> None:
    names = endpoint.model_names
    if not isinstance(names, list) or not all(
        isinstance(name, str) and 0 < len(name) <= LONGEST_MODEL_NAME for name in names
    ):
        raise ValidationError(
            {"model_names": 'Give a list of model names, as in ["sim-small", "sim-large"].'}
        )


def _check_options(endpoint: Endpoint, new_key: str | None) -> None:
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


def _check_address(endpoint: Endpoint, new_key: str | None) -> None:
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


def _check_more_servers(endpoint: Endpoint, new_key: str | None) -> None:
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


def _check_prices(endpoint: Endpoint, new_key: str | None) -> None:
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


def _check_key_stays_at_home(endpoint: Endpoint, new_key: str | None) -> None:
    """Who may change the addresses must not thereby have the stored key sent to them."""
    if new_key is not None or not endpoint.has_key or endpoint.pk is None:
        return
    stored = Endpoint.objects.only("base_url", "more_urls").get(pk=endpoint.pk)
    known = {_origin(url) for url in (stored.base_url, *stored.more_urls)}
    if _origin(endpoint.base_url) not in known:
        raise ValidationError(
            {"base_url": "The host is new, so enter the key again: it is sent to no new host."}
        )
    urls = endpoint.more_urls if isinstance(endpoint.more_urls, list) else []
    if any(_origin(str(url)) not in known for url in urls):
        raise ValidationError(
            {"more_urls": "A host is new, so enter the key again: it is sent to no new host."}
        )


ADDRESS_CHECKS = (
    _check_options,
    _check_address,
    _check_more_servers,
    _check_new_key,
    _check_key_stays_at_home,
)
CHECKS = (_check_fields, _check_models, _check_prices, *ADDRESS_CHECKS)


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url.strip().lower())
    return parts.scheme, parts.netloc


def _put_key(user: Person, endpoint: Endpoint, key: str) -> None:
    endpoint.key_ciphertext = secrets.encrypt(key) if key else ""
    endpoint.key_hint = key[-4:] if len(key) >= SHORTEST_HINTED_KEY else ""
    endpoint.key_set_at = now() if key else None
    endpoint.key_set_by_id = user.pk if key else None
