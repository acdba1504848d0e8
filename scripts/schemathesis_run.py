"""Sends what the OpenAPI document allows, and what it refuses, to a site of its own.

Starts `serve` in a folder of its own with a dataset, an endpoint, a configuration and a run, then
lets schemathesis ask every route. Fails on a server error, and on an answer that is not as
documented. Further arguments go to schemathesis, as in `-n 5`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.own_site import OwnSite  # noqa: E402

BIN = Path(sys.executable).parent
# Bodies that fit the schema may still name an endpoint that there is not, or break another rule
# that JSON schema cannot say: 422 is the right answer to them.
LEFT_OUT = "positive_data_acceptance"


def main(arguments: list[str]) -> int:
    with OwnSite() as site:
        command = [
            str(BIN / "schemathesis"),
            "run",
            str(ROOT / "docs" / "openapi.json"),
            *("--url", site.url),
            *("--header", f"Authorization: Bearer {site.token}"),
            *("--exclude-checks", LEFT_OUT),
            *("--phases", "coverage,fuzzing"),
            *("--suppress-health-check", "all"),
            "--continue-on-failure",
            *arguments,
        ]
        return subprocess.call(command, cwd=site.folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
