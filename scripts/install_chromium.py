"""Makes sure that the browser tests have a Chromium; says exactly what to do where it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

# The shell draws the same pages without the windows of a browser: a third of the CPU.
SHELL = "chromium-headless-shell"
NAMES = (SHELL, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FONTS = "fonts-liberation"  # a fresh Debian has none for the screenshots

WHAT_TO_DO = """\
The browser tests need Chromium, and none was found. Do one of these, then `make test` again:
  Debian, Ubuntu   sudo apt-get install chromium
  Fedora           sudo dnf install chromium
  macOS            brew install --cask chromium
  anywhere         name an installed Chromium or Chrome: export EVALSITE_CHROMIUM=/path/to/it
"""


def find_chromium() -> str | None:
    """The executable to drive: the one a person named, else the first on the PATH."""
    if named := os.environ.get("EVALSITE_CHROMIUM"):
        return shutil.which(named)
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def install_by_apt() -> None:
    print("Installing Chromium for the browser tests (apt-get)", flush=True)
    quiet = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    install = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", FONTS]
    subprocess.run(["apt-get", "update", "-qq"], check=False, env=quiet)
    for package in (SHELL, "chromium"):  # older ones have no package of the shell
        ended = subprocess.run(
            [*install, package], check=False, env=quiet, stdout=subprocess.DEVNULL
        )
        if ended.returncode == 0:
            return


def main() -> None:
    if find_chromium():
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        install_by_apt()
    if not find_chromium():
        sys.exit(WHAT_TO_DO)


if __name__ == "__main__":
    main()
