"""Reads the environment once, typed; what cannot be understood stops the start with its name."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from evalsite.commit import find_commit
from evalsite.data_folder import close_to_others
from evalsite.mail import MailServer, read_mail
from evalsite.proxies import MOST_PROXIES, TrustedProxies, parse_proxies
from evalsite.sign_in_provider import SignInProvider, read_provider

BASE_DIR = Path(__file__).resolve().parent.parent
_PACKAGED = Path(__file__).resolve().parent / "packaged"  # only in a wheel
IS_INSTALLED = _PACKAGED.is_dir()
# Templates, styles, scripts and documents: of the wheel, or of the checkout.
RESOURCES = _PACKAGED if IS_INSTALLED else BASE_DIR
PROGRAM = "evalsite" if IS_INSTALLED else "manage.py"  # as people type it
DEFAULT_ORIGINS = "http://127.0.0.1:8000,http://localhost:8000"
SIMULATOR_PORT = 8765  # the usual one
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
MOST_TRIALS = 2_000_000  # of a run, whoever starts it; the engine refuses more
SHORTEST_SECRET_KEY = 50  # characters; what Django's own deployment check asks for
OUTBOUND_PROXIES = ("http", "socks5", "socks5h", "socks4")
SWITCH_WORDS = {"1": True, "true": True, "yes": True, "on": True}
SWITCH_WORDS |= {"0": False, "false": False, "no": False, "off": False}


class EnvironmentProblem(Exception):
    """A variable that has to be put right before anything can start."""


@dataclass(frozen=True)
class Environment:
    """Everything the site takes from outside."""

    data: Path
    debug: bool
    secret_key: str
    database_url: str | None  # None: SQLite in the data folder
    redis_url: str
    origins: tuple[str, ...]
    allowed_hosts: tuple[str, ...]
    simulator_url: str
    simulator_secret: str  # for its control API; empty: it makes one
    workers: int
    flight_seconds: int
    live_runs: int
    trials_per_run: int
    dollars_per_day: float | None  # of one person; None: no limit, as below
    stored_megabytes: int | None
    slots_per_person: int | None
    sockets_per_person: int
    audit_days: int
    trash_days: int
    keep_runs_days: int | None  # None: for ever, as below
    keep_samples_days: int | None
    keep_cache_days: int | None
    keep_cache_megabytes: int | None
    worker_megabytes: int | None  # None: 4,096 where there are plug-ins, else no limit
    lease_seconds: int
    hang_seconds: int  # after which a worker whose loop stands still ends
    api_requests_per_minute: int
    allowed_private_endpoints: tuple[str, ...]
    private_endpoints: str  # ask: an admin may allow one on its form; refuse: only the list above
    unsafe_webhook_addresses: tuple[str, ...]
    unsafe_proxy_looks_up: bool  # it is told names of endpoints, which nobody checks
    https_proxy: str  # between the site and the world; empty: none
    no_proxy: tuple[str, ...]
    trusted_proxies: TrustedProxies
    sign_in_provider: SignInProvider | None
    plugins: tuple[str, ...]
    mail: MailServer | None  # None: the site sends none
    commit: str  # of the code; empty: unknown

    @property
    def is_https(self) -> bool:
        return all(origin.startswith("https://") for origin in self.origins)


def read_environment(environ: Mapping[str, str] = os.environ) -> Environment:
    """The whole environment, or an EnvironmentProblem that names the variable."""
    data = make_data_folder(environ)
    origins = _origins(environ)
    return Environment(
        data=data,
        debug=_switch(environ, "EVALSITE_DEBUG"),
        secret_key=_secret_key(environ, data),
        database_url=_text(environ, "DATABASE_URL"),
        redis_url=_text(environ, "REDIS_URL") or _embedded_redis_url(data),
        origins=origins,
        allowed_hosts=_allowed_hosts(environ, origins),
        simulator_url=_text(environ, "EVALSITE_SIMULATOR_URL") or _served_simulator_url(data),
        simulator_secret=_text(environ, "EVALSITE_SIMULATOR_SECRET") or "",
        workers=_number(environ, "EVALSITE_WORKERS", default=2, lowest=1, highest=256),
        flight_seconds=_number(
            environ, "EVALSITE_FLIGHT_SECONDS", default=10, lowest=1, highest=600
        ),
        live_runs=_number(environ, "EVALSITE_LIVE_RUNS", default=50, lowest=1, highest=10_000),
        trials_per_run=_number(
            environ,
            "EVALSITE_TRIALS_PER_RUN",
            default=MOST_TRIALS,
            lowest=1,
            highest=MOST_TRIALS,
        ),
        dollars_per_day=_amount(environ, "EVALSITE_DOLLARS_PER_DAY"),
        stored_megabytes=_optional(environ, "EVALSITE_STORED_MEGABYTES", lowest=0),
        slots_per_person=_optional(environ, "EVALSITE_SLOTS_PER_PERSON", lowest=1),
        sockets_per_person=_number(
            environ, "EVALSITE_SOCKETS_PER_PERSON", default=20, lowest=1, highest=10_000
        ),
        audit_days=_number(environ, "EVALSITE_AUDIT_DAYS", default=400, lowest=30, highest=36_500),
        trash_days=_number(environ, "EVALSITE_TRASH_DAYS", default=7, lowest=1, highest=365),
        keep_runs_days=_optional(environ, "EVALSITE_KEEP_RUNS_DAYS", lowest=1),
        keep_samples_days=_optional(environ, "EVALSITE_KEEP_SAMPLES_DAYS", lowest=1),
        keep_cache_days=_optional(environ, "EVALSITE_KEEP_CACHE_DAYS", lowest=1),
        keep_cache_megabytes=_optional(environ, "EVALSITE_KEEP_CACHE_MEGABYTES", lowest=1),
        worker_megabytes=_optional(environ, "EVALSITE_WORKER_MEGABYTES", lowest=256),
        lease_seconds=_number(environ, "EVALSITE_LEASE_SECONDS", default=12, lowest=2, highest=600),
        hang_seconds=_number(environ, "EVALSITE_HANG_SECONDS", default=30, lowest=2, highest=3600),
        api_requests_per_minute=_number(
            environ, "EVALSITE_API_REQUESTS_PER_MINUTE", default=1200, lowest=1, highest=1_000_000
        ),
        allowed_private_endpoints=_list(environ, "EVALSITE_ALLOWED_PRIVATE_ENDPOINTS"),
        private_endpoints=_choice(environ, "EVALSITE_PRIVATE_ENDPOINTS", ("ask", "refuse")),
        unsafe_webhook_addresses=_list(environ, "EVALSITE_UNSAFE_WEBHOOK_ADDRESSES"),
        unsafe_proxy_looks_up=_switch(environ, "EVALSITE_UNSAFE_PROXY_LOOKS_UP"),
        https_proxy=_https_proxy(environ),
        no_proxy=_list(environ, "NO_PROXY") or _list(environ, "no_proxy"),
        trusted_proxies=_trusted_proxies(environ),
        sign_in_provider=read_provider(partial(_text, environ), EnvironmentProblem),
        plugins=_list(environ, "EVALSITE_PLUGINS"),
        mail=_mail(environ),
        commit=_text(environ, "EVALSITE_COMMIT") or find_commit(BASE_DIR),
    )


def make_data_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of database, keys and Redis files, readable by nobody else."""
    named = _text(environ, "EVALSITE_DATA") or default_data_folder(environ)
    folder = Path(named).expanduser().resolve()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentProblem(
            f"EVALSITE_DATA is {str(folder)!r}, which cannot be made a folder ({error.strerror})."
            " Name a folder that this user may write, or give it with --data DIR."
        ) from error
    close_to_others(folder)
    return folder


def default_data_folder(environ: Mapping[str, str], *, is_installed: bool = IS_INSTALLED) -> Path:
    """In the checkout; of an installed package in the person's own data, where no upgrade or
    removal of the package touches it."""
    if not is_installed:
        return BASE_DIR / "data"
    return Path(environ.get("XDG_DATA_HOME") or "~/.local/share") / "evalsite"


def redis_url_file(data: Path) -> Path:
    """Where a running `serve` leaves the address of its Redis for the other commands."""
    return data / "redis" / "url"


def _embedded_redis_url(data: Path) -> str:
    try:
        return redis_url_file(data).read_text().strip()
    except OSError:
        return "redis://127.0.0.1:6379/0"


def simulator_url_file(data: Path) -> Path:
    """Where a running `serve` leaves the address of its simulated provider, for the same reason."""
    return data / "simulator_url"


def site_url_file(data: Path) -> Path:
    """Where it leaves its own address, for links that commands print."""
    return data / "site_url"


def _served_simulator_url(data: Path) -> str:
    try:
        return simulator_url_file(data).read_text().strip()
    except OSError:
        return f"http://127.0.0.1:{SIMULATOR_PORT}"


def _text(environ: Mapping[str, str], name: str) -> str | None:
    """The value, or the content of the file that NAME_FILE names: how containers pass secrets."""
    if value := environ.get(name):
        return value
    path = environ.get(f"{name}_FILE")
    if not path:
        return None
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        raise EnvironmentProblem(
            f"{name}_FILE is {path!r}, which cannot be read ({error.strerror})."
            f" Name a readable file that holds the value, or set {name} itself."
        ) from error


def _list(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    parts = (part.strip() for part in (_text(environ, name) or "").split(","))
    return tuple(part for part in parts if part)


def _switch(environ: Mapping[str, str], name: str) -> bool:
    value = _text(environ, name)
    if value is None:
        return False
    if value.lower() not in SWITCH_WORDS:
        allowed = ", ".join(SWITCH_WORDS)
        raise EnvironmentProblem(f"{name} is {value!r}. Set it to one of: {allowed}; or unset it.")
    return SWITCH_WORDS[value.lower()]


def _choice(environ: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    """The first one if nothing is set."""
    value = _text(environ, name) or choices[0]
    if value not in choices:
        raise EnvironmentProblem(
            f"{name} is {value!r}. Set it to {' or '.join(choices)}, or unset it for {choices[0]}."
        )
    return value


def _number(
    environ: Mapping[str, str], name: str, *, default: int, lowest: int, highest: int
) -> int:
    value = _text(environ, name)
    if value is None:
        return default
    if not value.isdecimal() or not lowest <= int(value) <= highest:
        raise EnvironmentProblem(
            f"{name} is {value!r}. Set it to a whole number from {lowest} to {highest},"
            f" or unset it for {default}."
        )
    return int(value)


def _optional(environ: Mapping[str, str], name: str, *, lowest: int) -> int | None:
    """A whole number, or no limit."""
    if _text(environ, name) is None:
        return None
    return _number(environ, name, default=lowest, lowest=lowest, highest=1_000_000_000)


def _amount(environ: Mapping[str, str], name: str) -> float | None:
    value = _text(environ, name)
    if value is None:
        return None
    if not re.fullmatch(r"\d{1,9}(\.\d{1,6})?", value):
        raise EnvironmentProblem(
            f"{name} is {value!r}. Set it to an amount like 5 or 0.50, or unset it for no limit."
        )
    return float(value)


def _origins(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Exact origins: who may open a websocket or post a form."""
    origins = _list(environ, "EVALSITE_ORIGINS") or tuple(DEFAULT_ORIGINS.split(","))
    for origin in origins:
        parts = urlsplit(origin)
        exact = f"{parts.scheme}://{parts.netloc}" == origin and "*" not in origin
        if parts.scheme not in {"http", "https"} or not parts.hostname or not exact:
            raise EnvironmentProblem(
                f"EVALSITE_ORIGINS contains {origin!r}. List exact origins, separated by commas:"
                " scheme://host:port, without path or wildcard, such as https://eval.example.com."
            )
    return origins


def _https_proxy(environ: Mapping[str, str]) -> str:
    """With scheme and port. Unlike other variables it has no name of ours: companies set it."""
    name = "HTTPS_PROXY" if environ.get("HTTPS_PROXY") else "https_proxy"
    text = (environ.get(name) or "").strip()
    if not text:
        return ""
    url = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in OUTBOUND_PROXIES and parts.hostname and parts.port
    except ValueError:
        is_whole = False
    if not is_whole:
        raise EnvironmentProblem(
            f"{name} must be the address of a proxy with its port, as in http://proxy.example:3128 "
            f"(or {', '.join(OUTBOUND_PROXIES[1:])}). Put it right, or unset it for this site."
        )
    return url


def _trusted_proxies(environ: Mapping[str, str]) -> TrustedProxies:
    """Whose word about a client's address is taken. Nobody's, unless it is set."""
    given = _list(environ, "EVALSITE_TRUSTED_PROXIES")
    try:
        return parse_proxies(given)
    except ValueError as error:
        raise EnvironmentProblem(
            f"EVALSITE_TRUSTED_PROXIES is {', '.join(given)!r}. Set it to how many proxies stand"
            f" in front of the site (1 to {MOST_PROXIES}), or to their addresses or networks,"
            " separated by commas, such as 10.0.0.0/24; or unset it."
        ) from error


def _mail(environ: Mapping[str, str]) -> MailServer | None:
    url = _text(environ, "EVALSITE_MAIL_URL")
    try:
        return read_mail(url, _text(environ, "EVALSITE_MAIL_FROM") or "") if url else None
    except ValueError as error:
        raise EnvironmentProblem(str(error)) from None


def _allowed_hosts(environ: Mapping[str, str], origins: tuple[str, ...]) -> tuple[str, ...]:
    """Host names we answer to. Loopback is always among them: health checks use it."""
    named = _list(environ, "EVALSITE_ALLOWED_HOSTS")
    if any("*" in host for host in named):
        raise EnvironmentProblem(
            "EVALSITE_ALLOWED_HOSTS contains '*', which lets any web page name this site its own."
            " List the host names it is reached by, separated by commas, or unset it to use those"
            " of EVALSITE_ORIGINS."
        )
    hosts = named or tuple(_host_of(origin) for origin in origins)
    return tuple(dict.fromkeys((*hosts, *LOOPBACK_HOSTS)))


def _host_of(origin: str) -> str:
    host = urlsplit(origin).hostname or ""
    return f"[{host}]" if ":" in host else host


def _secret_key(environ: Mapping[str, str], data: Path) -> str:
    """The key that signs sessions: given, or made once and kept in the data folder."""
    given = _text(environ, "EVALSITE_SECRET_KEY")
    if given is None:
        return _kept_secret_key(data / "keys" / "secret_key")
    if len(given) < SHORTEST_SECRET_KEY or len(set(given)) < 5:
        raise EnvironmentProblem(
            f"EVALSITE_SECRET_KEY is too weak: {len(given)} characters. Give at least"
            f" {SHORTEST_SECRET_KEY} random ones (python -c 'import secrets;"
            " print(secrets.token_urlsafe(50))'), or unset it and one is made for you."
        )
    return given


def _kept_secret_key(path: Path) -> str:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    if not path.exists():
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(50))
        try:
            os.link(draft, path)  # never replaces: of several processes, the first one's key stays
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()
