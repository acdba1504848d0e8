"""A launch as a curl command that can be pasted into a shell whatever the configuration holds."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

END = "CONFIGURATION"  # no line of the body is it: the body is one line of JSON, in ASCII


def as_curl(url: str, document: Mapping[str, Any]) -> str:
    """`POST /api/v1/runs`; the token comes from the environment, never from a page."""
    body = json.dumps({"configuration": document})
    lines = [
        f"curl -sS -X POST {shlex.quote(url)} \\",
        '  -H "Authorization: Bearer $EVALSITE_TOKEN" \\',
        "  -H 'Content-Type: application/json' \\",
        f"  --data-binary @- <<'{END}'",
        body,
        END,
    ]
    return "\n".join(lines) + "\n"
