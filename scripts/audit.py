"""Asks the databases of known holes about everything that is locked, and writes down the parts.

Exit code 1: a hole is known; 2: a database did not answer. The parts are listed in the form of
CycloneDX, for those who must keep a list: .cache/sbom/python.cdx.json and browser.cdx.json.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.set_up import VENV, npm_from_pypi  # noqa: E402 - the line above finds it

OSV = "https://api.osv.dev/v1/query"


class NoAnswer(Exception):
    """A database could not be asked; the message is the tool's own last line."""


def audit_python(osv_url: str, parts: Path) -> bool:
    asked = [str(VENV / "bin" / "pip-audit"), "--progress-spinner=off", "--disable-pip"]
    asked += ["--vulnerability-service=osv", f"--osv-url={osv_url}", "--strict", "--timeout=60"]
    asked += ["--no-deps", "--requirement", str(ROOT / "requirements" / "run.lock")]
    found = subprocess.run(asked, check=False, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    if "Traceback" in found.stderr:
        raise NoAnswer(found.stderr.splitlines()[-1])
    print(found.stderr, end="", flush=True)
    kept = ["--format=cyclonedx-json", f"--output={parts / 'python.cdx.json'}"]
    subprocess.run([*asked, *kept], check=False, cwd=ROOT, stderr=subprocess.DEVNULL)
    return found.returncode == 0


def audit_browser_packages(parts: Path) -> bool:
    npm = ["npm"] if shutil.which("npm") else [str(part) for part in npm_from_pypi()]
    listed = ["sbom", "--omit=dev", "--package-lock-only", "--sbom-format=cyclonedx"]
    with (parts / "browser.cdx.json").open("wb") as file:
        subprocess.run([*npm, *listed], check=True, cwd=ROOT, stdout=file)
    asked = [*npm, "audit", "--omit=dev", "--package-lock-only"]
    found = subprocess.run(asked, check=False, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    if "audit endpoint returned an error" in found.stderr:
        raise NoAnswer("the npm registry has no answer to `npm audit`")
    return found.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["python", "browser"], help="ask about these packages")
    parser.add_argument("--osv-url", default=OSV, help="database of Python packages; default OSV")
    parser.add_argument("--parts", type=Path, default=ROOT / ".cache" / "sbom", help="folder")
    options = parser.parse_args()
    options.parts.mkdir(parents=True, exist_ok=True)
    is_sound = True
    try:
        if options.only != "browser":
            is_sound = audit_python(options.osv_url, options.parts)
        if options.only != "python":
            is_sound = audit_browser_packages(options.parts) and is_sound
    except NoAnswer as error:
        print(f"A database of known holes did not answer, so ask again later: {error}")
        return 2
    if not is_sound:
        print("Raise what has a known hole in requirements/*.in or package.json, then: make lock")
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
