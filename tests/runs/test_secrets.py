"""Endpoint keys are unreadable without the key file, and stay readable through rotations."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from runs import secrets
from runs.models import Endpoint, EndpointKind
from runs.services.endpoints import rotate_endpoint_keys

pytestmark = pytest.mark.usefixtures("data_folder")

CANARY = "sk-canary-0123456789abcdef"


def test_what_is_encrypted_is_unreadable_without_the_file_of_its_owner_alone(data_folder):
    token = secrets.encrypt(CANARY)
    path = data_folder / "keys" / "endpoint_keys"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0
    first = path.read_text()
    assert secrets.decrypt(token) == CANARY
    assert CANARY not in token
    assert secrets.encrypt(CANARY) != token  # equal keys do not look equal
    assert path.read_text() == first
    assert [file.name for file in path.parent.iterdir()] == ["endpoint_keys"]


def test_processes_that_start_together_agree_on_one_key():
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(secrets.encrypt, [CANARY] * 32))
    assert {secrets.decrypt(token) for token in tokens} == {CANARY}
    assert len(secrets.key_file().read_text().splitlines()) == 1


def test_a_lost_key_file_is_named_and_that_of_another_site_opens_nothing(settings, tmp_path):
    token, file = secrets.encrypt(CANARY), secrets.key_file()
    for damage, message in (
        (lambda: file.write_text("nonsense\n"), "is damaged"),
        (lambda: file.write_text(""), "is damaged"),
        (file.unlink, "is gone"),
    ):
        damage()
        with pytest.raises(secrets.SecretsError, match=message) as error:
            secrets.decrypt(token)
        assert str(file) in str(error.value)
        assert "backup" in str(error.value)
    settings.EVALSITE_DATA = tmp_path / "other"
    secrets.encrypt("anything")
    with pytest.raises(secrets.SecretsError, match="enter the endpoint's key again"):
        secrets.decrypt(token)


def store_endpoint(name, key):
    return Endpoint.objects.create(
        name=name, kind=EndpointKind.SIMULATED, key_ciphertext=secrets.encrypt(key) if key else ""
    )


@pytest.mark.django_db
def test_rotate_keys_moves_every_endpoint_to_the_new_key(capsys):
    first, second = store_endpoint("a", "ka"), store_endpoint("b", "kb")
    bare = store_endpoint("c", "")
    before = first.key_ciphertext
    (old,) = secrets.key_file().read_text().splitlines()
    assert rotate_endpoint_keys() == 2
    new, kept = secrets.key_file().read_text().splitlines()
    assert new != old == kept, "the new one goes first"
    first.refresh_from_db()
    assert first.key_ciphertext != before
    assert secrets.decrypt(before) == "ka", "backups still open until old keys are forgotten"
    call_command("rotate_keys", "--forget-old")
    for endpoint, key in ((first, "ka"), (second, "kb")):
        endpoint.refresh_from_db()
        assert secrets.decrypt(endpoint.key_ciphertext) == key
    with pytest.raises(secrets.SecretsError):
        secrets.decrypt(before)
    bare.refresh_from_db()
    assert bare.key_ciphertext == ""
    assert len(secrets.key_file().read_text().splitlines()) == 1
    assert "Encrypted 2 endpoint keys again" in capsys.readouterr().out


@pytest.mark.django_db
def test_a_rotation_that_cannot_read_a_key_changes_nothing():
    readable = store_endpoint("a", CANARY)
    Endpoint.objects.create(name="b", kind=EndpointKind.SIMULATED, key_ciphertext="not a token")
    with pytest.raises(CommandError, match="enter the endpoint's key again"):
        call_command("rotate_keys", "--forget-old")
    before = readable.key_ciphertext
    readable.refresh_from_db()
    assert readable.key_ciphertext == before
    assert secrets.decrypt(before) == CANARY
