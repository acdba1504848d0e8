"""Writes the passwords and keys that compose.yaml reads into secrets/; never replaces one."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Files are readable inside a folder that is not: compose hands each file, with its mode, to a
# container whose user is another one.
FOLDER_MODE = 0o700
FILE_MODE = 0o644


def make_values() -> dict[str, str]:
    redis, owner, app = (secrets.token_urlsafe(32) for _ in range(3))
    return {
        "secret_key": secrets.token_urlsafe(50),
        "postgres_password": secrets.token_urlsafe(32),
        "owner_password": owner,
        "owner_database_url": f"postgresql://evalsite_owner:{owner}@postgres:5432/evalsite",
        "app_password": app,
        "database_url": f"postgresql://evalsite:{app}@postgres:5432/evalsite",
        "redis_conf": f"requirepass {redis}",
        "redis_url": f"redis://:{redis}@redis:6379/0",
    }


def main(folder: Path) -> None:
    if folder.exists():
        sys.exit(
            f"{folder} is there already. The databases were made with its passwords, so nothing"
            " was changed. To start anew, remove it together with the volumes:"
            " docker compose down --volumes"
        )
    folder.mkdir(mode=FOLDER_MODE)
    for name, value in make_values().items():
        path = folder / name
        path.write_text(value + "\n")
        path.chmod(FILE_MODE)
    print(f"Wrote {len(list(folder.iterdir()))} files to {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "secrets")
