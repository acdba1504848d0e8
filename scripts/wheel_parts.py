"""What the wheel needs beside the code: its dependencies, templates, styles, scripts and documents.

hatchling, which builds the wheel, loads this file (see pyproject.toml). In the wheel all of it lies
in evalsite/packaged, as in a checkout: evalsite/env.py finds it there.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PLACE = "evalsite/packaged"
FOLDERS = ("templates", "static", "docs")
BROWSER_PACKAGES = ("node_modules/uplot/dist", "node_modules/uplot/LICENSE")
FILES = ("manage.py",)


class Dependencies(MetadataHookInterface):
    """Those of requirements/run.in: what is written once cannot differ."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "requirements" / "run.in").read_text()
        lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines())
        metadata["dependencies"] = [line for line in lines if line]


class Packaged(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the files that are no Python; the browser packages are installed first, if need be."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if not all((root / name).exists() for name in BROWSER_PACKAGES):
            runpy.run_path(str(root / "scripts" / "set_up.py"))["install_browser_packages"]("run")
        for name in (*FOLDERS, *BROWSER_PACKAGES, *FILES):
            build_data["force_include"][str(root / name)] = f"{PLACE}/{name}"
