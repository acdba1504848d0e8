"""The only writer of endpoints. A key goes in here, encrypted, and never comes out to a page."""

from urllib.parse import urlsplit

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.utils.timezone import now

from runs import secrets
from runs.access import can_edit_endpoints
from runs.models import Endpoint
from runs.outbound import check_endpoint
from runs.services.connection import ConnectionReport, check_connection
from workers.engine.errors import ForbiddenAddress

__all__ = [
    "ConnectionReport",
    "delete_endpoint",
    "rotate_endpoint_keys",
    "save_endpoint",
    "test_connection",
    "validate_endpoint",
]

LONGEST_KEY = 4096  # characters; tokens of some gateways are long, headers end at 8 KB
SHORTEST_HINTED_KEY = 16  # characters; of a shorter one, four letters would give away too much
LONGEST_MODEL_NAME = 200  # characters, as in a configuration

FIELDS = [
    "name",
    "kind",
    "base_url",
    "model_names",
    "max_concurrent",
    "requests_per_minute",
    "updated",
]
KEY_FIELDS = ["key_ciphertext", "key_hint", "key_set_at", "key_set_by"]

Person = AbstractBaseUser | AnonymousUser


@transaction.atomic
def save_endpoint(user: Person, endpoint: Endpoint, new_key: str | None = None) -> Endpoint:
    """Store an endpoint. `new_key`: None keeps the key, "" removes it, a text replaces it.

    ValidationError names the fields that are wrong; `new_key` is one of them.
    """
    _require_editor(user)
    validate_endpoint(endpoint, new_key)
    if new_key is not None:
        _put_key(user, endpoint, new_key.strip())
    # A form that was open for an hour must not bring back the key that was replaced meanwhile.
    changed = FIELDS if new_key is None else FIELDS + KEY_FIELDS
    endpoint.save(update_fields=changed if endpoint.pk else None)
    return endpoint


def delete_endpoint(user: Person, endpoint: Endpoint) -> None:
    """Remove an endpoint and its key. Finished runs keep the name they were made with."""
    _require_editor(user)
    endpoint.delete()


def test_connection(endpoint: Endpoint) -> ConnectionReport:
    """Ask the endpoint for its models. Changes nothing."""
    return check_connection(endpoint)


def validate_endpoint(endpoint: Endpoint, new_key: str | None) -> None:
    """Everything wrong with an endpoint as it would be saved, by field."""
    errors: dict[str, list[str]] = {}
    for check in CHECKS:
        try:
            check(endpoint, new_key)
        except ValidationError as error:
            for field, messages in error.message_dict.items():
                errors.setdefault(field, []).extend(messages)
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
    if forget_old:  # only now: had the transaction failed, the old ones would still be needed
        secrets.forget_old_keys()
    return len(endpoints)


def _require_editor(user: Person) -> None:
    if not can_edit_endpoints(user):
        raise PermissionDenied("Only staff may change endpoints. Ask an administrator.")


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


def _check_address(endpoint: Endpoint, new_key: str | None) -> None:
    longest = Endpoint._meta.get_field("base_url").max_length
    if longest and len(endpoint.base_url) > longest:
        raise ValidationError({"base_url": f"A base URL has at most {longest} characters."})
    try:
        check_endpoint(endpoint)
    except ForbiddenAddress as error:
        raise ValidationError({"base_url": str(error)}) from None


def _check_key_stays_at_home(endpoint: Endpoint, new_key: str | None) -> None:
    """Who may change the address must not thereby have the stored key sent to it."""
    if new_key is not None or not endpoint.has_key or endpoint.pk is None:
        return
    stored = Endpoint.objects.only("base_url").get(pk=endpoint.pk)
    if _origin(stored.base_url) != _origin(endpoint.base_url):
        raise ValidationError(
            {"base_url": "The host changes, so enter the key again: it is not sent elsewhere."}
        )


CHECKS = (_check_fields, _check_models, _check_address, _check_new_key, _check_key_stays_at_home)


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url.strip().lower())
    return parts.scheme, parts.netloc


def _put_key(user: Person, endpoint: Endpoint, key: str) -> None:
    endpoint.key_ciphertext = secrets.encrypt(key) if key else ""
    endpoint.key_hint = key[-4:] if len(key) >= SHORTEST_HINTED_KEY else ""
    endpoint.key_set_at = now() if key else None
    endpoint.key_set_by_id = user.pk if key else None
