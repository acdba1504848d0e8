"""Encrypts endpoint keys at rest. The keys to do so lie in a file of their own, beside the data.

A copy of the database alone, or of the settings alone, gives nobody a provider's key.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

KEY_FIELDS = ["key_ciphertext", "key_hint", "key_set_at", "key_set_by"]
HEADER_FIELDS = ["headers_ciphertext", "header_names"]
PROXY_FIELDS = ["proxy_ciphertext", "proxy_shown"]


class NewSecrets(NamedTuple):
    """Of an endpoint, as they were entered. None keeps what is stored; an empty one removes it."""

    key: str | None = None
    headers: Mapping[str, str] | None = None
    proxy: str | None = None  # its URL, or "direct"

    @property
    def fields(self) -> list[str]:
        """A form that was open for an hour must not bring back what was replaced meanwhile."""
        given = (self.key, KEY_FIELDS), (self.headers, HEADER_FIELDS), (self.proxy, PROXY_FIELDS)
        return [name for value, names in given if value is not None for name in names]


NOTHING_NEW = NewSecrets()


class SecretsError(Exception):
    """A stored secret cannot be read. Says what to restore or to enter again."""


def encrypt(text: str) -> str:
    """A token that only this installation's key file opens. Makes the file on first use."""
    if not key_file().exists():
        _make_key_file()
    return _box().encrypt(text.encode()).decode()


def decrypt(token: str) -> str:
    try:
        return _box().decrypt(token.encode()).decode()
    except InvalidToken:
        raise SecretsError(
            f"A stored key was not encrypted with the keys in {key_file()}. Restore the file that "
            "belongs to this database from a backup, or enter the endpoint's key again."
        ) from None


def rotate() -> None:
    """Put a new key in front. Older ones stay, so that what they encrypted still opens."""
    keys = _read_keys() if key_file().exists() else []
    _write_key_file([_new_key(), *keys])


def reencrypt(token: str) -> str:
    """The same secret under the newest key."""
    return encrypt(decrypt(token))


def forget_old_keys() -> None:
    """Keep the newest key only: for use after everything was encrypted again."""
    _write_key_file(_read_keys()[:1])


def key_file() -> Path:
    return Path(settings.EVALSITE_DATA) / "keys" / "endpoint_keys"


def _box() -> MultiFernet:
    # Read at every use: a worker sees a rotation without a restart, and the file is tiny.
    try:
        return MultiFernet([Fernet(key) for key in _read_keys()])
    except ValueError:
        raise SecretsError(
            f"The key file {key_file()} is damaged: it must hold one Fernet key a line, the "
            "newest first. Restore it from a backup."
        ) from None


def _read_keys() -> list[str]:
    try:
        lines = key_file().read_text().splitlines()
    except FileNotFoundError:
        raise SecretsError(
            f"The key file {key_file()} is gone, and stored keys cannot be read without it. "
            "Restore it from a backup, or enter the key of every endpoint again."
        ) from None
    return [line.strip() for line in lines if line.strip()]


def _new_key() -> str:
    return Fernet.generate_key().decode()


def _make_key_file() -> None:
    draft = _draft([_new_key()])
    try:
        os.link(draft, key_file())  # never replaces: of several processes, the first one's stays
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _write_key_file(keys: list[str]) -> None:
    _draft(keys).replace(key_file())


def _draft(keys: list[str]) -> Path:
    """A complete file beside the real one, so that no reader ever sees half of it."""
    path = key_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    draft.touch(mode=0o600)
    draft.write_text("".join(f"{key}\n" for key in keys))
    return draft
