"""Writes docs/openapi.json from the routes of the API."""

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    import django

    django.setup()
    from runs.api.api import api

    text = json.dumps(api.get_openapi_schema(), indent=2, ensure_ascii=False)
    (ROOT / "docs" / "openapi.json").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
