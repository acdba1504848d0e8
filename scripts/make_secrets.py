"""Writes the passwords and keys that compose.yaml reads into secrets/; never replaces one."""

from __future__ import annotations

import hashlib
import secrets
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Files are readable inside a folder that is not: compose hands each file, with its mode, to a
# container whose user is another one.
FOLDER_MODE = 0o700
FILE_MODE = 0o644


def make_parts() -> list[dict[str, str]]:
    """Files that belong together: a password, and the addresses with it."""
    web, worker, owner, app = (secrets.token_urlsafe(32) for _ in range(4))
    return [
        {"secret_key": secrets.token_urlsafe(50)},
        {"oidc_client_secret": ""},  # the provider gives it; empty while none is in use
        {
            "postgres_password": secrets.token_urlsafe(32),
            "owner_password": owner,
            "owner_database_url": f"postgresql://evalsite_owner:{owner}@postgres:5432/evalsite",
            "app_password": app,
            "database_url": f"postgresql://evalsite:{app}@postgres:5432/evalsite",
        },
        {
            "redis_conf": redis_users(web=web, worker=worker),
            "web_redis_url": f"redis://web:{web}@redis:6379/0",
            "worker_redis_url": f"redis://worker:{worker}@redis:6379/0",
        },
    ]


def redis_users(**passwords: str) -> str:
    """The users of Redis, who are known by the digests of their passwords."""
    text = (ROOT / "deploy" / "redis_users.conf").read_text().strip()
    for name, password in passwords.items():
        text = text.replace(f"{{{name}}}", hashlib.sha256(password.encode()).hexdigest())
    return text


def main(folder: Path) -> None:
    folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
    missing = [part for part in make_parts() if not any((folder / name).exists() for name in part)]
    if not missing:
        sys.exit(
            f"All files are in {folder} already. The databases were made with its passwords, so"
            " nothing was changed. To start anew, remove it together with the volumes:"
            " docker compose down --volumes"
        )
    for name, value in (item for part in missing for item in part.items()):
        path = folder / name
        path.write_text(value + "\n")
        path.chmod(FILE_MODE)
    print(f"Wrote {sum(map(len, missing))} files to {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "secrets")
